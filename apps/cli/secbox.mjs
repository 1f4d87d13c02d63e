#!/usr/bin/env node
import '../../docker/setup/secbox.mjs';
