package corpus

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxRows bounds a feeder, and maxLine a line of it.
	maxRows = 1_000_000
	maxLine = 16 << 20
	// maxFile bounds the file of a feeder or a corpus, in bytes; it is kept in memory.
	maxFile = 256 << 20
)

var errTooLong = fmt.Errorf("the file is longer than %d MiB; use a part of it", maxFile>>20)

// bounded is a reader that fails once it has read more than left bytes.
type bounded struct {
	in   io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// Rows is a feeder's table, whose columns have names.
type Rows struct {
	columns []string
	rows    [][]string
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.rows) }

// column finds a column by its name, or by its number from 0.
func (r *Rows) column(name string) (int, error) {
	if i := slices.Index(r.columns, name); i >= 0 {
		return i, nil
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(r.columns) {
		return i, nil
	}
	return 0, fmt.Errorf("the feeder has no column %.60q; it has %s", name, strings.Join(r.columns, ", "))
}

// Value returns the field of a row in the column with a name; after the last row it begins again
// with the first.
func (r *Rows) Value(row int, name string) (value string, ok bool) {
	column, err := r.column(name)
	if err != nil {
		return "", false
	}
	return r.value(row, column), true
}

// value returns a field; after the last row it begins again with the first.
func (r *Rows) value(row, column int) string { return r.rows[row%len(r.rows)][column] }

// ReadCSV reads rows from CSV whose first line names the columns.
func ReadCSV(in io.Reader) (*Rows, error) {
	c := csv.NewReader(&bounded{in, maxFile})
	header, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the feeder is empty; its first line names the columns")
	}
	if err != nil {
		return nil, err
	}
	r := &Rows{columns: header}
	for {
		row, err := c.Read() // fails, naming the line, if the row has more or fewer fields than the header
		if errors.Is(err, io.EOF) {
			return r, r.check()
		}
		if err != nil {
			return nil, err
		}
		if r.rows = append(r.rows, row); len(r.rows) > maxRows {
			return nil, fmt.Errorf("the feeder has more than %d rows", maxRows)
		}
	}
}

// ReadNDJSON reads one JSON object per line; the first one names the columns. A JSON string
// becomes the field without its quotes and escapes, any other value becomes its JSON text.
func ReadNDJSON(in io.Reader) (*Rows, error) {
	r := &Rows{}
	err := eachLine(in, func(n int, line []byte) error {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(line, &object); err != nil {
			return fmt.Errorf("line %d is not a JSON object: %w", n, err)
		}
		if r.columns == nil {
			for name := range object {
				r.columns = append(r.columns, name)
			}
			slices.Sort(r.columns)
		}
		row := make([]string, len(r.columns))
		for i, name := range r.columns {
			raw, ok := object[name]
			if !ok {
				return fmt.Errorf("line %d has no field %q, which the first line has", n, name)
			}
			if json.Unmarshal(raw, &row[i]) != nil {
				row[i] = string(raw)
			}
		}
		r.rows = append(r.rows, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, r.check()
}

func (r *Rows) check() error {
	if len(r.rows) == 0 {
		return errors.New("the feeder has no rows")
	}
	return nil
}

// ReadBodies reads prebuilt bodies, one per line.
func ReadBodies(in io.Reader) ([][]byte, error) {
	var out [][]byte
	total := 0
	err := eachLine(in, func(n int, line []byte) error {
		if total += len(line); total > maxBytes {
			return fmt.Errorf("line %d: the bodies take more than %d MiB", n, maxBytes>>20)
		}
		out = append(out, bytes.Clone(line))
		return nil
	})
	if err == nil && len(out) == 0 {
		err = errors.New("the corpus file has no bodies; write one per line")
	}
	return out, err
}

// eachLine calls f for each line that is not empty, up to maxRows.
func eachLine(in io.Reader, f func(n int, line []byte) error) error {
	lines := bufio.NewScanner(&bounded{in, maxFile})
	lines.Buffer(nil, maxLine)
	n, kept := 0, 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if kept++; kept > maxRows {
			return fmt.Errorf("line %d: more than %d lines", n, maxRows)
		}
		if err := f(n, lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}
