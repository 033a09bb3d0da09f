package escape

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Terminal prints the result for people. With the zero Color and Width it prints plain text of any
// width, for a pipe.
type Terminal struct {
	W     io.Writer
	Color bool // escape codes
	Width int  // columns; 0: unknown, so no line is cut
}

// Codes of ECMA-48 SGR.
const (
	dimmed = "2"
	amber  = "33"
)

// line prints a line, cut to the width of the terminal. It removes control characters, so that text
// from a profile or the compiler can neither change colours nor move the cursor.
func (t Terminal) line(code, format string, args ...any) {
	text := []rune(strings.TrimRight(strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, fmt.Sprintf(format, args...)), " "))
	if t.Width > 4 && len(text) > t.Width {
		text = append(text[:t.Width-3], '.', '.', '.')
	}
	if code != "" && t.Color {
		fmt.Fprintf(t.W, "\x1b[%sm%s\x1b[0m\n", code, string(text))
		return
	}
	fmt.Fprintln(t.W, string(text))
}
