/*
 * What the start of an interpreter takes from its command line and environment, taken again. Python
 * itself reads the command line; only what it found is carried over to the interpreter that is up.
 */
#define _GNU_SOURCE
#include <Python.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "python-ahead.h"

static PyObject *list_of(const PyWideStringList *strings)
{
	PyObject *list = PyList_New(strings->length);

	for (Py_ssize_t i = 0; list != NULL && i < strings->length; i++) {
		PyObject *text = PyUnicode_FromWideChar(strings->items[i], -1);

		if (text == NULL)
			Py_CLEAR(list);
		else
			PyList_SET_ITEM(list, i, text);
	}
	return list;
}

/* Steals the value, as most of its callers have just made it. */
static bool set_sys(const char *name, PyObject *value)
{
	bool set = value != NULL && PySys_SetObject(name, value) == 0;

	Py_XDECREF(value);
	return set;
}

static bool move_list(PyConfig *to, PyWideStringList *list, const PyWideStringList *from, const char *name)
{
	return !PyStatus_Exception(PyConfig_SetWideStringList(to, list, from->length, from->items)) &&
	       set_sys(name, list_of(list));
}

static bool move_string(PyConfig *to, wchar_t **string, const wchar_t *from)
{
	return !PyStatus_Exception(PyConfig_SetString(to, string, from));
}

/* Flags and variables are not carried over: init lets no request through in which they differ. */
static bool adopt_command(PyConfig *live, char **argv)
{
	PyConfig asked;
	Py_ssize_t argc = 0;

	while (argv[argc] != NULL)
		argc++;
	PyConfig_InitPythonConfig(&asked);

	bool adopted = !PyStatus_Exception(PyConfig_SetBytesArgv(&asked, argc, argv)) &&
		       !PyStatus_Exception(PyConfig_Read(&asked)) &&
		       move_string(live, &live->run_command, asked.run_command) &&
		       move_string(live, &live->run_module, asked.run_module) &&
		       move_string(live, &live->run_filename, asked.run_filename) &&
		       move_list(live, &live->orig_argv, &asked.orig_argv, "orig_argv") &&
		       move_list(live, &live->argv, &asked.argv, "argv");

	PyConfig_Clear(&asked);
	return adopted;
}

static bool is_same_file(const char *one, const char *other)
{
	struct stat a, b;

	return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* It was started as `python`. Under another name of the same file it would call itself by that. */
static bool adopt_name(PyConfig *live, const char *name)
{
	char *own = Py_EncodeLocale(live->executable, NULL);
	char *slash = own == NULL ? NULL : strrchr(own, '/');
	char other[4096];
	bool adopted = slash != NULL;

	if (adopted && strcmp(slash + 1, name) != 0) {
		int length = snprintf(other, sizeof other, "%.*s/%s", (int)(slash - own), own, name);
		bool fits = length > 0 && length < (int)sizeof other && access(other, X_OK) == 0 &&
			    is_same_file(own, other) && wcscmp(live->executable, live->base_executable) == 0;
		wchar_t *wide = fits ? Py_DecodeLocale(other, NULL) : NULL;

		adopted = wide != NULL && !PyStatus_Exception(PyConfig_SetBytesString(live, &live->program_name, name)) &&
			  move_string(live, &live->executable, wide) &&
			  move_string(live, &live->base_executable, wide) &&
			  set_sys("executable", PyUnicode_FromWideChar(wide, -1)) &&
			  set_sys("_base_executable", PyUnicode_FromWideChar(wide, -1));
		PyMem_RawFree(wide);
	}
	PyMem_Free(own);
	return adopted;
}

/* os.environ keeps its values in this one dictionary. */
static bool fill_environ(PyObject *dictionary)
{
	PyDict_Clear(dictionary);
	for (char **entry = environ; *entry != NULL; entry++) {
		const char *equals = strchr(*entry, '=');
		PyObject *name = PyBytes_FromStringAndSize(*entry, equals - *entry);
		PyObject *value = PyBytes_FromString(equals + 1);
		bool set = name != NULL && value != NULL && PyDict_SetDefault(dictionary, name, value) != NULL;

		Py_XDECREF(name);
		Py_XDECREF(value);
		if (!set)
			return false;
	}
	return true;
}

/* True when the request says nothing of LC_CTYPE: init sees to it that it then said nothing before, either. */
static bool lacks_ctype(char **envp)
{
	for (; *envp != NULL; envp++)
		if (strncmp(*envp, "LC_CTYPE=", 9) == 0)
			return false;
	return true;
}

static bool adopt_environ(char **envp)
{
	/* An interpreter in the locale C sets it for itself and what it starts. */
	const char *coerced = lacks_ctype(envp) ? getenv("LC_CTYPE") : NULL;
	PyObject *modules = PyImport_GetModuleDict();
	PyObject *posix = PyDict_GetItemString(modules, "posix");
	PyObject *dictionary = posix == NULL ? NULL : PyObject_GetAttrString(posix, "environ");

	environ = envp;

	bool adopted = dictionary != NULL && PyDict_CheckExact(dictionary) &&
		       (coerced == NULL || setenv("LC_CTYPE", coerced, 1) == 0) && fill_environ(dictionary);

	Py_XDECREF(dictionary);
	return adopted;
}

/*
 * It came up with /dev/null as stdin, and has found out that one can seek in that. So a stdin that is
 * streamed is opened again: this is create_stdio of Python's own start.
 */
static bool adopt_stdin(const PyConfig *live)
{
	PyObject *modules = PyImport_GetModuleDict();
	PyObject *io = PyDict_GetItemString(modules, "io");
	PyObject *buffer = io == NULL ? NULL
				      : PyObject_CallMethod(io, "open", "isiOOOO", 0, "rb", -1, Py_None, Py_None,
							    Py_None, Py_False);
	PyObject *raw = buffer == NULL ? NULL : PyObject_GetAttrString(buffer, "raw");
	PyObject *name = PyUnicode_FromString("<stdin>");
	PyObject *mode = PyUnicode_FromString("r");
	PyObject *encoding = PyUnicode_FromWideChar(live->stdio_encoding, -1);
	PyObject *errors = PyUnicode_FromWideChar(live->stdio_errors, -1);
	PyObject *stream = NULL;

	if (raw != NULL && name != NULL && mode != NULL && encoding != NULL && errors != NULL &&
	    PyObject_SetAttrString(raw, "name", name) == 0)
		stream = PyObject_CallMethod(io, "TextIOWrapper", "OOOsOO", buffer, encoding, errors, "\n", Py_False,
					     Py_False);

	bool adopted = stream != NULL && PyObject_SetAttrString(stream, "mode", mode) == 0 &&
		       PySys_SetObject("__stdin__", stream) == 0 && PySys_SetObject("stdin", stream) == 0;

	Py_XDECREF(stream);
	Py_XDECREF(errors);
	Py_XDECREF(encoding);
	Py_XDECREF(mode);
	Py_XDECREF(name);
	Py_XDECREF(raw);
	Py_XDECREF(buffer);
	return adopted;
}

bool interpreter_adopt(const struct request *request)
{
	PyConfig *live = (PyConfig *)_Py_GetConfig();

	return adopt_name(live, request->argv[0]) && adopt_environ(request->envp) &&
	       adopt_command(live, request->argv) && (!request->streams_stdin || adopt_stdin(live));
}
