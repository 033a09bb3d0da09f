// Package screen cleans texts of other programs, such as a URL in a file or a server's answer,
// before a terminal shows them, so that nothing in a text controls the terminal.
//
// It is not for Dyno's own colours: a caller that has cleaned a text and colours it writes to
// Below. It starts no goroutines.
package screen

import (
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Writer writes text without control characters.
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	part []byte // the beginning of a character whose rest comes with the next Write
}

// New returns a Writer to w.
func New(w io.Writer) *Writer { return &Writer{to: w} }

// Write writes text, in UTF-8. Control characters and those that change the writing direction
// become \uXXXX, so that a text in JSON keeps its value; line ends stay, and tabs become spaces.
func (w *Writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := string(w.part) + string(text)
	whole := len(s)
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ { // a character may be cut at the end
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				whole -= n
			}
			break
		}
	}
	w.part = append(w.part[:0], s[whole:]...)
	if _, err := io.WriteString(w.to, Clean(s[:whole])); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Below returns the writer below a Writer, for text that is clean and has colours; a writer that
// is no Writer is returned as it is.
func Below(w io.Writer) io.Writer {
	if s, ok := w.(*Writer); ok {
		return s.to
	}
	return w
}

// Clean is a text as a Writer writes it.
func Clean(text string) string {
	if !strings.ContainsFunc(text, controls) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\t':
			out.WriteByte(' ')
		case controls(r) && r != utf8.RuneError:
			const hex = "0123456789abcdef"
			out.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				out.WriteByte(hex[r>>shift&0xf])
			}
		default: // a byte that is no UTF-8 becomes U+FFFD
			out.WriteRune(r)
		}
	}
	return out.String()
}

// Line is Clean for a text that has one line: its line ends become spaces.
func Line(text string) string {
	return Clean(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(text))
}

// controls reports whether a terminal may do something else than show the character. All of them
// have at most 16 bits.
func controls(r rune) bool {
	return unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError
}
