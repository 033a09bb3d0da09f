package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"dyno/subjects/bounds/suite"
)

var Catalogue = suite.Entry{
	Name: "render", Family: "cpu", Truth: "cpu", Function: "dyno/subjects/bounds/pages.(*shelf).index",
	InWords: "each request encodes a few hundred products as JSON, into buffers that are used again",
	Method:  "GET", Path: "/products", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		products := d.Between("products", 300, 900)
		return func() (*suite.Service, error) { return suite.Serving("GET /products", newShelf(products).index), nil }
	},
}

type product struct {
	ID          int        `json:"id"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	PriceCents  int64      `json:"price_cents"`
	Weight      float64    `json:"weight_kg"`
	Tags        [3]string  `json:"tags"`
	Size        [3]float64 `json:"size_m"`
}

// shelf answers with all its products.
type shelf struct {
	products []product
	buffers  sync.Pool
}

func newShelf(n int) *shelf {
	s := &shelf{buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }}}
	for i := range n {
		s.products = append(s.products, product{ID: i, Name: fmt.Sprintf("Lamp no. %d", i), Description: "stands <firmly> & gives light",
			PriceCents: int64(i)*37 + 99, Weight: float64(i) / 7, Tags: [3]string{"home", "light", "\"new\""}, Size: [3]float64{0.1, 0.25, float64(i) / 3}})
	}
	return s
}

func (s *shelf) index(w http.ResponseWriter, _ *http.Request) {
	out := s.buffers.Get().(*bytes.Buffer)
	defer s.buffers.Put(out)
	out.Reset()
	if err := json.NewEncoder(out).Encode(&s.products); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(out.Bytes())
}
