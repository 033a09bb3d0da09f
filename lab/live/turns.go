package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"dyno/lab/record"
	"dyno/lab/report/figure"
	"dyno/lab/report/turns"
)

// turnNews is the current result of an experiment by turns.
type turnNews struct {
	Words string       `json:"words"`
	Left  figure.Value `json:"left_s"` // of the budget; null: no budget
	Rows  string       `json:"rows"`   // a row for each variant, as HTML
}

// maxSlices bounds the slices that are read, in bytes: some 30,000 of them.
const maxSlices = 16 << 20

// turns returns an event when slices were added since the last look.
func (f *follower) turns(root *os.Root, e *record.Experiment) []event {
	if !f.readSlices(root) {
		return nil
	}
	exp := *e
	exp.Slices = f.slices
	var rows strings.Builder
	for _, so := range turns.SoFar(&exp) {
		if err := pages.ExecuteTemplate(&rows, "turn", so); err != nil {
			return nil // a builder accepts everything, and the template is tested
		}
	}
	news := turnNews{Words: turns.Words(&exp), Left: figure.Unknown, Rows: rows.String()}
	if u := e.InProgress; u != nil && !u.Ends.IsZero() {
		news.Left = figure.Value(max(0, time.Until(u.Ends).Seconds()))
	}
	return []event{{eventTurns, f.at, news}}
}

// readSlices reads the complete lines added to the slices, and reports whether there were any.
func (f *follower) readSlices(root *os.Root) bool {
	at, err := root.Lstat(slicesFile)
	if err != nil || !at.Mode().IsRegular() || at.Size() == f.read || at.Size() > maxSlices {
		return false
	}
	if at.Size() < f.read { // another experiment of that name
		f.read, f.slices = 0, nil
	}
	file, err := root.Open(slicesFile)
	if err != nil {
		return false
	}
	defer file.Close()
	bite := make([]byte, at.Size()-f.read)
	n, err := file.ReadAt(bite, f.read)
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	whole := bytes.LastIndexByte(bite[:n], '\n') + 1
	f.read += int64(whole)
	for line := range bytes.Lines(bite[:whole]) {
		var s record.Slice
		if json.Unmarshal(line, &s) == nil {
			f.slices = append(f.slices, s)
		}
	}
	return whole > 0
}

// slicesOf is the size and age of an experiment's slices; nil: none.
func slicesOf(root *os.Root) fs.FileInfo {
	at, err := root.Lstat(slicesFile)
	if err != nil || !at.Mode().IsRegular() || at.Size() == 0 {
		return nil
	}
	return at
}
