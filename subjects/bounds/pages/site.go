// Package pages is the servers of the suite that are pages of a site: a catalogue, a search, a
// ranking, files and copies of them.
//
// Neither its functions nor its files are named after their bottleneck, as in command bounds. It
// starts no goroutines.
package pages

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"dyno/subjects/bounds/suite"
)

var Site = suite.Entry{
	Name: "files", Family: "syscall", Truth: "syscall", Function: "dyno/subjects/bounds/pages.(*website).read",
	InWords: "each request opens, reads and closes some hundred small files",
	Method:  "GET", Path: "/site", Invisible: nil,
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		files, size := d.Between("files", 60, 150), d.Between("file_bytes", 4_096, 16_384)
		return func() (*suite.Service, error) {
			s, err := newWebsite(files, size)
			if err != nil {
				return nil, err
			}
			return suite.ServingUntil("GET /site", s.show, s.close), nil
		}
	},
}

// website serves files from its own folder.
type website struct {
	root    string
	files   []string
	buffers sync.Pool
}

func newWebsite(files, size int) (*website, error) {
	root, err := os.MkdirTemp("", "bounds-")
	if err != nil {
		return nil, err
	}
	s := &website{root: root, buffers: sync.Pool{New: func() any { b := make([]byte, size+1); return &b }}}
	for i := range files {
		name := filepath.Join(root, fmt.Sprintf("page%d", i))
		if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
			s.close()
			return nil, err
		}
		s.files = append(s.files, name)
	}
	return s, nil
}

func (s *website) close() { os.RemoveAll(s.root) }

func (s *website) show(w http.ResponseWriter, _ *http.Request) {
	total := 0
	for _, name := range s.files {
		n, err := s.read(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		total += n
	}
	fmt.Fprintf(w, "%d bytes\n", total)
}

// read returns the size of a file's contents.
func (s *website) read(name string) (int, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(b)
	n, err := io.ReadFull(f, *b) // one byte more than it has
	if err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}

var Copies = suite.Entry{
	Name: "pipe", Family: "syscall", Truth: "syscall", Function: "dyno/subjects/bounds/pages.(*duct).pass",
	InWords: "each request writes a block to a pipe and reads it back, some dozen times",
	Method:  "GET", Path: "/pass", Invisible: nil,
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		times, block := d.Between("times", 20, 60), d.Between("block_bytes", 8_192, 32_768)
		return func() (*suite.Service, error) {
			p := &duct{times: times, block: block}
			return suite.ServingUntil("GET /pass", p.pass, p.close), nil
		}
	},
}

// duct sends blocks through pipes, each of which is used by one request at a time.
type duct struct {
	times, block int

	mu   sync.Mutex
	idle []*ends
}

type ends struct {
	in, out *os.File
	block   []byte
}

func (p *duct) pass(w http.ResponseWriter, _ *http.Request) {
	e, err := p.take()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer p.put(e)
	for range p.times {
		_, err := e.in.Write(e.block) // it fits: a pipe holds 64 KiB
		if err == nil {
			_, err = io.ReadFull(e.out, e.block)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	fmt.Fprintf(w, "%d blocks\n", p.times)
}

func (p *duct) take() (*ends, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		e := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return e, nil
	}
	out, in, err := os.Pipe()
	return &ends{in, out, make([]byte, p.block)}, err
}

func (p *duct) put(e *ends) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, e)
}

func (p *duct) close() {
	for _, e := range p.idle {
		e.in.Close()
		e.out.Close()
	}
}
