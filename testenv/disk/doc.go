// Package disk gives tests a directory whose disk can be made to fail.
package disk
