package agents

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/engine"
)

// Limits of a packed load, in bytes: its rows and bodies take up to 256 MiB each, and bodies are
// longer in base64.
const (
	mostPacked   = 256 << 20
	mostUnpacked = 768 << 20
)

// pack returns a load as bytes, from which each agent builds the same requests. Rows that may be
// sent once, and answers that something in this process waits for, cannot be shared.
func pack(s *corpus.Spec) ([]byte, error) {
	switch {
	case s.Load.Once:
		return nil, errors.New("requests that are sent once (load.once) come from one process: they cannot be split between agents yet")
	case s.Load.Deliveries != "":
		return nil, errors.New("a load with receipts comes from one process: it cannot be split between agents yet")
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level exists
	if err := errors.Join(json.NewEncoder(z).Encode(s), z.Close()); err != nil {
		return nil, fmt.Errorf("encoding the load: %w", err)
	}
	if out.Len() > mostPacked {
		return nil, fmt.Errorf("the load takes %d MiB, and agents take up to %d", out.Len()>>20, mostPacked>>20)
	}
	return out.Bytes(), nil
}

// unpack reads what pack wrote. Making the driver checks it.
func unpack(b []byte) (*corpus.Spec, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("reading the load: %w", err)
	}
	s := &corpus.Spec{}
	d := json.NewDecoder(io.LimitReader(z, mostUnpacked))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
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

// work is a load that can be sent.
type work struct {
	key    string
	size   int // of the packed load and its requests, in bytes
	driver load.Driver
	shared sharing
}

// sharing is what the processes that share a load take turns at: its requests, or the rows of
// flows.
type sharing interface{ Share(k, n int) }

// makeWork makes the driver of a load that arrived in bytes; permitted is asked for each host.
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
	if d, ok := driver.(sharing); ok {
		w.shared = d
	}
	return w, nil
}
