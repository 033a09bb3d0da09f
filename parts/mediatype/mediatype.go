// Package mediatype reads the media type that a Content-Type names (RFC 9110, section 8.3.1): in
// any case of letters, with any parameters, also with some that are written wrongly. JSON has no
// parameter, and one that is sent has no effect (RFC 8259, section 11).
//
// It is not for Accept, nor for parameters that have a meaning. It starts no goroutines.
package mediatype

import "strings"

// Of returns a Content-Type's media type in lower case, without parameters.
func Of(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.Trim(kind, " \t"))
}

// IsNDJSON reports whether a Content-Type is of one JSON text a line, by any name in use.
func IsNDJSON(contentType string) bool {
	switch Of(contentType) {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines":
		return true
	}
	return false
}

// IsJSON reports whether a Content-Type is of JSON, also by its suffix (RFC 6839, section 3.1).
func IsJSON(contentType string) bool {
	kind := Of(contentType)
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}
