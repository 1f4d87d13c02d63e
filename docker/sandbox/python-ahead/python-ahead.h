/* What the files of python-ahead.so offer each other. */
#ifndef SECBOX_PYTHON_AHEAD_H
#define SECBOX_PYTHON_AHEAD_H

#include <stdbool.h>

#include "init.h"

/* interpreter.c: makes the interpreter that is up the one that this request starts. False: it is not. */
bool interpreter_adopt(const struct request *request);

/* proc.c: /proc/self/cmdline, environ and comm as after execve. Best effort: not every kernel can. */
void proc_show(const struct request *request, char *end);

#endif
