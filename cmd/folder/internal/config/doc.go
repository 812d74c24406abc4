// Package config is the configuration of the program: one typed struct, whose
// tags are the schema that reading, checking, printing and the documentation
// share.
//
// A value comes from the first of: flag, environment, file, default. A flag is
// "--" and the path ("--kafka.group"), an environment variable is FOLDER_ and
// the path in upper case ("FOLDER_KAFKA_GROUP"), a file is strict YAML: an
// unknown key is an error that names the nearest known one.
package config
