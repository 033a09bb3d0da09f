package escape

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Terminal prints for people. The zero Color and Width suit a pipe: plain text of any width.
type Terminal struct {
	W     io.Writer
	Color bool // escape codes
	Width int  // columns; 0: unknown, so no line is cut
}

// Codes of ECMA-48 SGR.
const (
	bold   = "1"
	dimmed = "2"
	amber  = "33"
)

// line prints a line, cut to the terminal's width; text from a profile or the compiler can
// neither change colours nor move the cursor.
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
