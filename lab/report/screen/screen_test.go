package screen

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain, größe, 値, 👩‍💻\nnext line\n": "plain, größe, 値, 👩‍💻\nnext line\n",
		"a\x1b]0;title\x07b":                `a\u001b]0;title\u0007b`,
		"\u009b31m \x9b31m":                 `\u009b31m ` + "\ufffd31m",
		"back\b\x7f\r\v\f\x00":              `back\u0008\u007f\u000d\u000b\u000c\u0000`,
		"\u202ecod.exe\u2066\u061c":         `\u202ecod.exe\u2066\u061c`,
		"a\tb\u2028c":                       `a b\u2028c`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Line("a\r\nb\nc\x1b"); got != `a b c\u001b` {
		t.Errorf("one line: %q", got)
	}
}

// TestJSONKeepsItsValues: what is cleaned in a JSON text reads as before.
func TestJSONKeepsItsValues(t *testing.T) {
	const value = "a\u009b\u202e\x7f\t\x1bz"
	var out bytes.Buffer
	if err := json.NewEncoder(New(&out)).Encode(value); err != nil {
		t.Fatal(err)
	}
	got := ""
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != value {
		t.Errorf("%q, %v from %s", got, err, out.Bytes())
	}
}

// FuzzWriter: wherever a text is cut, the result is the same, and controls nothing.
func FuzzWriter(f *testing.F) {
	f.Add("é\u009b\x1b[2J値", 3)
	f.Add("\xf0\x9f", 1)
	f.Fuzz(func(t *testing.T, text string, at int) {
		var out bytes.Buffer
		w := New(&out)
		at = max(0, min(at, len(text)))
		for _, part := range []string{text[:at], text[at:], "\n"} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		got := out.String()
		if got != Clean(text+"\n") {
			t.Errorf("%q cut at %d: %q, want %q", text, at, got, Clean(text))
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }) {
			t.Errorf("%q", got)
		}
	})
}
