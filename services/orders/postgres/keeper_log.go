package postgres

import (
	"bytes"
	"os"
	"sync"
)

// maxLog bounds PostgreSQL's log, bytes: when it is full it becomes log.1, and the log.1 before is
// dropped.
const maxLog = 16 << 20

// maxTail is how much of the log's end is kept for the error when PostgreSQL ends, bytes.
const maxTail = 2 << 10

// logFile is PostgreSQL's log. A write never fails: PostgreSQL must not wait for its log, nor end
// with it.
type logFile struct {
	path string
	max  int64

	mu   sync.Mutex
	file *os.File // nil: it could not be opened anew
	size int64
	tail []byte
}

func openLog(path string) (*logFile, error) {
	l := &logFile{path: path, max: maxLog}
	return l, l.open()
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

func (l *logFile) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, text...)
	l.tail = l.tail[max(0, len(l.tail)-maxTail):]
	if l.file != nil && l.size > 0 && l.size+int64(len(text)) > l.max {
		l.file.Close()
		if os.Rename(l.path, l.path+".1") != nil {
			os.Truncate(l.path, 0) // the bound goes before what was logged
		}
		l.file = nil
	}
	if l.file != nil || l.open() == nil {
		n, _ := l.file.Write(text)
		l.size += int64(n)
	}
	return len(text), nil
}

// lastWords returns what was logged last, for an error: lines with an indent, or nothing.
func (l *logFile) lastWords() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	tail := bytes.TrimSpace(l.tail)
	if len(tail) == 0 {
		return ""
	}
	return "; its log (" + l.path + ") ends with:\n" + string(tail)
}

func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
