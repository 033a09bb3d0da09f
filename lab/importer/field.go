package importer

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// printable reports whether a scenario can hold the text: YAML permits only some control
// characters.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0 && r != 0x85 || r == '\ufeff' || r >= 0xfffe && r <= 0xffff
	})
}

// parseField splits "Name: value".
func parseField(s string) (Field, bool) {
	name, value, ok := strings.Cut(s, ":")
	f := Field{strings.TrimSpace(name), strings.TrimSpace(value)}
	return f, ok && f.Valid()
}

// Valid reports whether a request can carry the field.
func (f Field) Valid() bool {
	const separators = `"(),/:;<=>?@[\]{}`
	inName := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(separators, r) }
	inValue := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	return f.Name != "" && !strings.ContainsFunc(f.Name, inName) && !strings.ContainsFunc(f.Value, inValue) && printable(f.Value)
}

// Get returns the value of a header field; empty: it is absent.
func (r *Request) Get(name string) string {
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// withoutField returns fields without those of a name.
func withoutField(fields []Field, name string) []Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return strings.EqualFold(f.Name, name) })
}

// Default adds a header field unless it is present.
func (r *Request) Default(name, value string) {
	if r.Get(name) == "" {
		r.Header = append(r.Header, Field{name, value})
	}
}
