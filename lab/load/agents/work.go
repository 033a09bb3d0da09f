package agents

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/engine"
	"dyno/lab/workload"
)

// Limits of a packed load, in bytes. Its rows and its bodies take up to 256 MiB each, and base64
// makes them longer.
const (
	mostPacked   = 256 << 20
	mostUnpacked = 768 << 20
)

// content is the JSON form of a load. JSON strings can hold UTF-8 only and bodies may have any
// encoding, so bodies are kept apart as bytes, which encoding/json writes in base64.
type content struct {
	*corpus.Spec
	Texts [][]byte `json:"texts,omitempty"` // bodies of the requests, then of the steps
}

// bodies returns the bodies of the requests, then of the steps.
func bodies(l *workload.Load) (out []*workload.Body) {
	for i := range l.Requests {
		out = append(out, &l.Requests[i].Body)
	}
	for i := range l.Steps {
		out = append(out, &l.Steps[i].Body)
	}
	return out
}

// contentOf returns the content of a load. All texts other than bodies and rows must be UTF-8.
func contentOf(s corpus.Spec) (content, error) {
	s.Rows = s.Rows.Needed(s.Load)
	s.Load.Requests, s.Load.Steps = slices.Clone(s.Load.Requests), slices.Clone(s.Load.Steps)
	c := content{Spec: &s}
	for _, b := range bodies(&s.Load) {
		c.Texts, b.Text = append(c.Texts, []byte(b.Text)), ""
		if !utf8.ValidString(b.Corpus) {
			return c, notUTF8("corpus " + b.Corpus)
		}
	}
	_, err := s.Load.Walk(func(name, text string, _ []string) (string, error) {
		if !utf8.ValidString(name + text) {
			return "", notUTF8(name)
		}
		return text, nil
	})
	return c, err
}

func notUTF8(name string) error {
	return fmt.Errorf("%s: it is not UTF-8, and agents take other bytes in bodies and rows only; in a URL write them as %%XX", strings.ToValidUTF8(name, "?"))
}

// spec puts the texts back into the bodies and returns the load.
func (c *content) spec() (*corpus.Spec, error) {
	into := bodies(&c.Spec.Load)
	if len(c.Texts) != len(into) {
		return nil, fmt.Errorf("%d texts of %d bodies", len(c.Texts), len(into))
	}
	for i, text := range c.Texts {
		into[i].Text = string(text)
	}
	return c.Spec, nil
}

// bounded is a writer that fails instead of writing more than most bytes.
type bounded struct {
	out     io.Writer
	most, n int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.n += len(p); b.n > b.most {
		return 0, fmt.Errorf("agents take up to %d MiB, and it is longer: use fewer rows, or shorter bodies", b.most>>20)
	}
	return b.out.Write(p)
}

// pack encodes a load so that each agent builds the same requests from it. It refuses loads that
// must come from one process: those whose rows are sent once, and those that wait for deliveries.
func pack(s *corpus.Spec) ([]byte, error) {
	switch {
	case s.Load.Once:
		return nil, errors.New("requests that are sent once (load.once) come from one process: they cannot be split between agents yet")
	case s.Load.Deliveries != "":
		return nil, errors.New("a load with receipts comes from one process: it cannot be split between agents yet")
	}
	c, err := contentOf(*s)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bounded{out: &out, most: mostPacked}, gzip.BestSpeed) // the level exists
	e := json.NewEncoder(&bounded{out: z, most: mostUnpacked})
	e.SetEscapeHTML(false) // otherwise each < takes six bytes
	if err = e.Encode(c); err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encoding the load for agents: %w", err)
	}
	return out.Bytes(), nil
}

// unpack decodes what pack wrote. The caller's engine.New checks the rest of the load.
func unpack(b []byte) (*corpus.Spec, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("reading the load: %w", err)
	}
	c := content{Spec: &corpus.Spec{}}
	d := json.NewDecoder(io.LimitReader(z, mostUnpacked))
	d.DisallowUnknownFields()
	err = d.Decode(&c)
	if err != nil {
		return nil, fmt.Errorf("reading the load: %w", err)
	}
	s, err := c.spec()
	if err != nil {
		return nil, fmt.Errorf("reading the load: %w", err)
	}
	if l := &s.Load; l.Think < 0 || l.Units < 0 || l.Follow < 0 || l.Pipeline < 0 {
		return nil, errors.New("reading the load: a number is below 0")
	}
	if !s.Load.Traits().Splits || s.Load.Once {
		return nil, fmt.Errorf("reading the load: one of kind %.40q cannot be split", s.Load.Kind)
	}
	return s, nil
}

// work is a load for which an agent has made the driver.
type work struct {
	key    string
	size   int // of the packed load and its requests, in bytes
	driver load.Driver
	shared sharing
}

// sharing is implemented by what the processes that share a load take in turn: a corpus's
// requests, or the rows of flows.
type sharing interface{ Share(k, n int) }

// makeWork makes the driver of a packed load; it calls permitted for each of the load's hosts.
func makeWork(key string, packed []byte, permitted, redirected func(string) error) (*work, error) {
	s, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	hosts, err := engine.Hosts(s)
	if err != nil {
		return nil, err
	}
	for _, host := range hosts {
		if err := permitted(host); err != nil {
			return nil, err
		}
	}
	s.Permit = redirected
	driver, requests, err := engine.New(s)
	if err != nil {
		return nil, err
	}
	w := &work{key: key, size: len(packed) + requests.Size(), driver: driver, shared: requests}
	if d, ok := driver.(sharing); ok { // flows take the rows in turn
		w.shared = d
		w.size += s.Rows.Size()
	}
	return w, nil
}
