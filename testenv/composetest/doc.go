// Package composetest checks testenv/redpanda-compose.yml with the parser that
// Docker Compose itself uses. It is its own module, so that nobody who builds
// the program pays for that parser.
package composetest
