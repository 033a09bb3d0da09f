package corpus

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Placeholders that a template may hold; $$ stands for a plain $.
//
//	${id}         the request's sequence number: 16 hexadecimal digits, in bodies only
//	${run}        the run's identity
//	${key}        a key, the same throughout a request
//	${row.NAME}   a field of the feeder's row; the rows are taken in turn
//	${random:N}   N random letters and digits
const placeholders = "${id}, ${run}, ${key}, ${row.NAME} and ${random:N}"

type partKind uint8

const (
	partText partKind = iota
	partID
	partRun
	partKey
	partRow
	partRandom
	partNamed // a value whose name the caller of parseTemplate passed
)

// part is a piece of a template.
type part struct {
	kind   partKind
	text   string // partText; partNamed: its name
	column int    // partRow: column of the feeder
	length int    // partRandom
	escape escape // partRow, partNamed: how to escape the value
}

// escape says how a value is escaped where it stands.
type escape uint8

const (
	asItIs  escape = iota
	asJSON         // inside the quotes of a JSON string
	asPath         // a segment of a path
	asQuery        // a name or value after the question mark
)

func (e escape) append(out []byte, value string) []byte {
	switch e {
	case asJSON:
		return appendJSONText(out, value)
	case asPath:
		return append(out, url.PathEscape(value)...)
	case asQuery:
		return append(out, url.QueryEscape(value)...)
	}
	return append(out, value...)
}

type template []part

func (t template) has(kind partKind) bool {
	for _, p := range t {
		if p.kind == kind {
			return true
		}
	}
	return false
}

// varies reports whether requests made from the template differ from one another before they are
// sent.
func (t template) varies() bool { return t.has(partKey) || t.has(partRow) || t.has(partRandom) }

func (t template) escapeJSON() { t.escapeAll(asJSON) }

func (t template) escapeAll(as escape) {
	for i := range t {
		t[i].escape = as
	}
}

func (t template) escapePath() {
	in := asPath
	for i := range t {
		t[i].escape = in
		if t[i].kind == partText && strings.Contains(t[i].text, "?") {
			in = asQuery
		}
	}
}

// maxRandom bounds ${random:N}: 16 MiB, the largest body that most servers take.
const maxRandom = 16 << 20

// parseTemplate parses a template. Besides the standard placeholders it accepts those in named.
// Errors name the column, counted from 1.
func parseTemplate(s string, rows *Rows, named ...string) (template, error) {
	var out template
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, part{kind: partText, text: text.String()})
			text.Reset()
		}
	}
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "$$"):
			text.WriteByte('$')
			i += 2
		case strings.HasPrefix(s[i:], "${"):
			name, _, ok := strings.Cut(s[i+2:], "}")
			if !ok {
				return nil, fmt.Errorf("column %d: the placeholder has no end; write $$ for a plain $", i+1)
			}
			p, err := parsePart(name, rows, named)
			if err != nil {
				return nil, fmt.Errorf("column %d: %w", i+1, err)
			}
			flush()
			out = append(out, p)
			i += len("${}") + len(name)
		default:
			text.WriteByte(s[i])
			i++
		}
	}
	flush()
	return out, nil
}

func parsePart(name string, rows *Rows, named []string) (part, error) {
	if slices.Contains(named, name) {
		return part{kind: partNamed, text: name}, nil
	}
	switch name {
	case "id":
		return part{kind: partID}, nil
	case "run":
		return part{kind: partRun}, nil
	case "key":
		return part{kind: partKey}, nil
	}
	if column, ok := strings.CutPrefix(name, "row."); ok {
		if rows == nil {
			return part{}, fmt.Errorf("${%s} needs a feeder, and there is none", name)
		}
		at, err := rows.column(column)
		return part{kind: partRow, column: at}, err
	}
	if length, ok := strings.CutPrefix(name, "random:"); ok {
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > maxRandom {
			return part{}, fmt.Errorf("${%s}: the length must be from 0 to %d", name, maxRandom)
		}
		return part{kind: partRandom, length: n}, nil
	}
	return part{}, fmt.Errorf("unknown placeholder ${%.60s}; known are %s", name, placeholders)
}

// appendJSONText appends a string in the form it has between the quotes of a JSON string.
func appendJSONText(out []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		return out // every string has a JSON form
	}
	return append(out, quoted[1:len(quoted)-1]...)
}

// appendRandom appends letters and digits, which need no escape in JSON, URLs and headers.
func appendRandom(out []byte, n int, rng *rand.Rand) []byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	const each = 8 // letters made from one random number: 2^64 is 84,000 times 62^8, so the bias is negligible
	out = slices.Grow(out, n)
	for ; n > 0; n -= each {
		bits := rng.Uint64()
		for range min(n, each) {
			out = append(out, letters[bits%uint64(len(letters))])
			bits /= uint64(len(letters))
		}
	}
	return out
}
