package corpus

import (
	"encoding/json"
	"fmt"

	"dyno/lab/workload"
)

// table is the JSON form of Rows, for another process. JSON strings can hold UTF-8 only and rows
// may have any encoding, so names and fields are bytes, which encoding/json writes in base64.
type table struct {
	Columns [][]byte   `json:"columns"`
	Rows    [][][]byte `json:"rows"`
}

// MarshalJSON writes the columns' names and the rows.
func (r *Rows) MarshalJSON() ([]byte, error) {
	t := table{Columns: inBytes(r.columns), Rows: make([][][]byte, len(r.rows))}
	for i, row := range r.rows {
		t.Rows[i] = inBytes(row)
	}
	return json.Marshal(t)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Rows) UnmarshalJSON(text []byte) error {
	var t table
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	r.columns, r.rows = inStrings(t.Columns), make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) || i >= maxRows {
			return fmt.Errorf("row %d has %d fields of %d columns, or is one too many", i+1, len(row), len(t.Columns))
		}
		r.rows[i] = inStrings(row)
	}
	return r.check()
}

func inBytes(texts []string) [][]byte {
	out := make([][]byte, len(texts))
	for i, text := range texts {
		out[i] = []byte(text)
	}
	return out
}

func inStrings(texts [][]byte) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = string(text)
	}
	return out
}

// Needed returns the rows with only the columns that a load's texts name. The fields of all other
// columns are empty, since they may be secrets that another process need not have.
func (r *Rows) Needed(l workload.Load) *Rows {
	if r == nil {
		return nil
	}
	named := make([]bool, len(r.columns))
	l.Walk(func(_, text string, saved []string) (string, error) {
		t, _ := parseTemplate(text, r, append(saved, workload.Count)...) // the driver reports an error
		for _, p := range t {
			if p.kind == partRow {
				named[p.column] = true
			}
		}
		return text, nil
	})
	out := &Rows{columns: r.columns, rows: make([][]string, len(r.rows))}
	for i, row := range r.rows {
		out.rows[i] = make([]string, len(row))
		for column, value := range row {
			if named[column] {
				out.rows[i][column] = value
			}
		}
	}
	return out
}

// Size returns about how many bytes of memory the rows take.
func (r *Rows) Size() (n int) {
	if r == nil {
		return 0
	}
	const field = 16 // bytes of a string's header
	for _, row := range r.rows {
		for _, value := range row {
			n += field + len(value)
		}
	}
	return n
}
