package script

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// eventReader reads server-sent events (HTML, section 9.2.6). A line ends with CR LF, LF or CR;
// after a CR the reader does not wait for more bytes to see whether an LF follows. It ignores the
// fields event, id and retry, since a lost session is not opened again.
type eventReader struct {
	r       *bufio.Reader
	data    []byte // reused
	line    []byte // reused
	begun   bool   // the first line was read; only there may a byte order mark occur
	afterCR bool   // the last line ended with CR: an LF that follows belongs to that line end
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{r: bufio.NewReader(r)} }

// next returns the data of the next event, its lines joined by newlines, and the number of bytes
// read. It skips comments, events without data, and an event that the end of the stream cuts off.
// The data is valid until the next call.
func (e *eventReader) next() (data []byte, n int, err error) {
	e.data = e.data[:0]
	for {
		read, err := e.readLine()
		n += read
		if err != nil {
			return nil, n, err
		}
		if len(e.line) == 0 && len(e.data) > 0 {
			return e.data[:len(e.data)-1], n, nil
		}
		if value, ok := dataOf(e.line); ok {
			e.data = append(append(e.data, value...), '\n')
		}
		if len(e.data) > maxMessage {
			return nil, n, tooLong("event")
		}
	}
}

// byteOrderMark may occur at the beginning of a stream.
var byteOrderMark = []byte("\ufeff")

// readLine reads a line into e.line, without its end, and returns the number of bytes read.
func (e *eventReader) readLine() (n int, err error) {
	e.line = e.line[:0]
	for {
		if _, err := e.r.Peek(1); err != nil {
			return n, err
		}
		ready, _ := e.r.Peek(e.r.Buffered()) // these bytes are in the buffer already, so Peek cannot fail
		if e.afterCR && ready[0] == '\n' {
			e.afterCR = false
			e.r.Discard(1)
			n++
			continue
		}
		e.afterCR = false
		part, end := ready, bytes.IndexAny(ready, "\r\n")
		if end >= 0 {
			part, e.afterCR = ready[:end+1], ready[end] == '\r'
		}
		e.line = append(e.line, part...)
		n += len(part)
		e.r.Discard(len(part))
		if len(e.line) > maxMessage {
			return n, tooLong("line of an event")
		}
		if end >= 0 {
			break
		}
	}
	e.line = e.line[:len(e.line)-1]
	if !e.begun {
		e.begun, e.line = true, bytes.TrimPrefix(e.line, byteOrderMark)
	}
	return n, nil
}

func tooLong(what string) error {
	return fmt.Errorf("a %s is longer than %d MiB", what, maxMessage>>20)
}

// dataOf returns the value of a line whose field is data.
func dataOf(line []byte) (value []byte, ok bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	return bytes.TrimPrefix(value, []byte(" ")), string(name) == "data"
}
