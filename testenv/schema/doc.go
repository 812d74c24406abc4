// Package schema holds rows of the changes topic against
// docs/schema/change-row.schema.json, and notes which of the schema's properties
// they had, so that a test can tell that the schema invents none.
package schema
