package engine

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"dyno/lab/load/corpus"
	"dyno/lab/load/nethttp"
)

// Limits of encoded work, in bytes: a corpus has at most 256 MiB, which base64 makes longer.
const (
	MaxEncoded = 256 << 20
	maxDecoded = 768 << 20
)

// encoded is the form of Work between processes. A file of certificates goes as its content.
type encoded struct {
	URL      string           `json:"url"`
	Engine   string           `json:"engine,omitempty"`
	HTTP2    bool             `json:"http2,omitempty"`
	Insecure bool             `json:"insecure,omitempty"`
	CA       []byte           `json:"ca,omitempty"`
	Think    time.Duration    `json:"think_ns,omitempty"`
	Follow   int              `json:"follow,omitempty"`
	Pipeline int              `json:"pipeline,omitempty"`
	Units    int              `json:"units,omitempty"`
	Classes  []corpus.Class   `json:"classes"`
	Requests []corpus.Request `json:"requests"`

	Call        string       `json:"call,omitempty"`
	Descriptors []byte       `json:"descriptors,omitempty"`
	Flow        *corpus.Spec `json:"flow,omitempty"`
}

// Encode returns the work as bytes. Requests that may be sent once, and answers that something in
// this process waits for, cannot be shared.
func (w Work) Encode() ([]byte, error) {
	c := w.Corpus
	switch {
	case c.Supply != nil:
		return nil, errors.New("requests that are sent once (load.once) come from one process: they cannot be split between agents yet")
	case c.Accepted != nil:
		return nil, errors.New("a load with receipts comes from one process: it cannot be split between agents yet")
	}
	e := encoded{URL: w.URL, Engine: w.Engine, HTTP2: w.HTTP2, Insecure: w.TLS.Insecure, CA: w.TLS.CA, Think: w.Think, Follow: w.Follow, Pipeline: w.Pipeline,
		Units: c.Units, Classes: c.Classes, Requests: c.Requests, Call: w.Call, Descriptors: w.Descriptors, Flow: w.Flow}
	if w.TLS.CAFile != "" {
		var err error
		if e.CA, err = os.ReadFile(w.TLS.CAFile); err != nil {
			return nil, fmt.Errorf("reading the certificate authority: %w", err)
		}
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level exists
	if err := errors.Join(json.NewEncoder(z).Encode(e), z.Close()); err != nil {
		return nil, fmt.Errorf("encoding the requests: %w", err)
	}
	if out.Len() > MaxEncoded {
		return nil, fmt.Errorf("the requests take %d MiB, and agents take up to %d", out.Len()>>20, MaxEncoded>>20)
	}
	return out.Bytes(), nil
}

// Decode reads what Encode wrote. Its Driver checks the requests.
func Decode(b []byte) (Work, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return Work{}, fmt.Errorf("reading the requests: %w", err)
	}
	var e encoded
	d := json.NewDecoder(io.LimitReader(z, maxDecoded))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return Work{}, fmt.Errorf("reading the requests: %w", err)
	}
	if e.Think < 0 || e.Units < 0 || e.Follow < 0 {
		return Work{}, errors.New("reading the requests: a number is below 0")
	}
	if e.Call != "" && len(e.Descriptors) == 0 {
		return Work{}, fmt.Errorf("reading the requests: no descriptors of %.100q", e.Call)
	}
	return Work{URL: e.URL, Engine: e.Engine, HTTP2: e.HTTP2, TLS: nethttp.TLS{Insecure: e.Insecure, CA: e.CA}, Think: e.Think, Follow: e.Follow, Pipeline: e.Pipeline,
		Corpus: &corpus.Corpus{Classes: e.Classes, Requests: e.Requests, Units: e.Units}, Call: e.Call, Descriptors: e.Descriptors, Flow: e.Flow}, nil
}
