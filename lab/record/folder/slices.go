package folder

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dyno/lab/record"
	"dyno/lab/record/redact"
)

// AddSlice appends a slice to the experiment and to its file, so that it survives a crash of the
// lab, and redacts it. Like Save, it writes nothing after a failure.
func AddSlice(e *record.Experiment, s record.Slice) {
	s = redact.Record(s)
	e.Slices = append(e.Slices, s)
	if e.Unwritten == nil {
		e.Unwritten = writeSlice(e, s)
	}
}

func writeSlice(e *record.Experiment, s record.Slice) error {
	line, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encoding a slice: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(e.Dir, SlicesFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("recording a slice: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// readSlices reads the experiment's slices; an experiment of whole runs has none.
func readSlices(e *record.Experiment) error {
	f, err := os.Open(filepath.Join(e.Dir, SlicesFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	lines.Split(wholeLines)
	for lines.Scan() {
		var s record.Slice
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return fmt.Errorf("%s: line %d: %w", SlicesFile, len(e.Slices)+1, err)
		}
		e.Slices = append(e.Slices, s)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: line %d: %w", SlicesFile, len(e.Slices)+1, err)
	}
	return nil
}

// wholeLines is a bufio.SplitFunc for lines that leaves out an incomplete last line, which a killed
// lab may have written.
func wholeLines(data []byte, _ bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}
