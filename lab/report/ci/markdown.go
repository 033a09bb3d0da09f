package ci

import (
	"fmt"
	"io"

	"dyno/lab/compare"
)

// Gate writes the verdict of a gate as the first lines of a Markdown report.
func Gate(w io.Writer, gate *compare.Outcome) error {
	_, err := fmt.Fprintf(w, "**Gate** `%s`: %s\n\n", gate.Gate, gate.Text)
	return err
}
