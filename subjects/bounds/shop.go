package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"dyno/subjects/bounds/beside"
	"dyno/subjects/bounds/suite"
)

var shop = suite.Entry{
	Name: "downstream", Family: "wait", Truth: "wait", Kind: "network", Function: "main.(*pricing).price",
	InWords: "each request calls another process over HTTP, which answers a few at a time and takes some ms for each",
	Method:  "GET", Path: "/offer", Invisible: []string{"none"},
	Remedies: []suite.Remedy{{InWords: "the receiver takes half as long", Scale: map[string]float64{"backend_us": 0.5}, Bound: 0.5}},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		takes, atOnce := d.Micros("backend_us", 5_000, 20_000), d.Between("backend_at_once", 2, 6)
		return func() (*suite.Service, error) {
			return offering(takes, atOnce, 0)
		}
	},
}

var calculator = suite.Entry{
	Name: "downstream-busy", Family: "wait", Truth: "wait", Kind: "network", Function: "main.(*pricing).price",
	InWords: "each request calls another process over HTTP, which computes on as many CPUs as there are",
	Method:  "GET", Path: "/offer", Invisible: []string{"none"},
	Remedies: []suite.Remedy{{InWords: "the receiver computes half as much", Scale: map[string]float64{"backend_rounds": 0.5}, Bound: 0.5, Receiver: 0.5}},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		rounds := d.Between("backend_rounds", 20_000, 40_000)
		return func() (*suite.Service, error) { return offering(time.Nanosecond, 1024, rounds) }
	},
}

var timed = suite.Entry{
	Name: "downstream-timeout", Family: "wait", Truth: "wait", Kind: "network", Function: "main.(*pricing).price",
	InWords: "the same behind http.TimeoutHandler, which runs each request in a goroutine of its own",
	Method:  "GET", Path: "/offer", Invisible: []string{"none"},
	Remedies: shop.Remedies,
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		takes, atOnce := d.Micros("backend_us", 5_000, 20_000), d.Between("backend_at_once", 2, 6)
		return func() (*suite.Service, error) {
			return asking("GET /offer", takes, atOnce, 0, func(p *pricing) http.HandlerFunc {
				return http.TimeoutHandler(http.HandlerFunc(p.offer), time.Minute, "late").ServeHTTP
			})
		}
	},
}

var comparing = suite.Entry{
	Name: "downstream-fanout", Family: "wait", Truth: "wait", Kind: "waitgroup", OrKind: "network", Function: "main.(*pricing).compare",
	InWords: "each request starts goroutines that call another process, which answers a few at a time, and waits for all of them",
	Method:  "GET", Path: "/compare", Invisible: []string{"none"},
	Remedies: shop.Remedies,
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		takes, atOnce := d.Micros("backend_us", 5_000, 20_000), d.Between("backend_at_once", 2, 6)
		return func() (*suite.Service, error) {
			return asking("GET /compare", takes, atOnce, 0, func(p *pricing) http.HandlerFunc { return p.compare })
		}
	},
}

// offering starts a shop with its backend.
func offering(takes time.Duration, atOnce, rounds int) (*suite.Service, error) {
	return asking("GET /offer", takes, atOnce, rounds, func(p *pricing) http.HandlerFunc { return p.offer })
}

// asking starts a backend and serves what asks it.
func asking(pattern string, takes time.Duration, atOnce, rounds int, handler func(*pricing) http.HandlerFunc) (*suite.Service, error) {
	b, err := beside.StartBackend(takes, atOnce, rounds)
	if err != nil {
		return nil, err
	}
	p := newPricing("http://" + b.Address)
	return suite.ServingUntil(pattern, handler(p), func() { p.client.CloseIdleConnections(); b.Close() }), nil
}

// pricing asks a backend for prices.
type pricing struct {
	client *http.Client
	url    string
}

func newPricing(url string) *pricing {
	// One idle connection per possible request: none is closed and opened again.
	return &pricing{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}, Timeout: time.Minute}, url}
}

func (p *pricing) offer(w http.ResponseWriter, r *http.Request) {
	price, err := p.price(r.Context(), "lamp")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fmt.Fprintf(w, "our offer: %s", price)
}

// compare asks for the prices of three items together.
func (p *pricing) compare(w http.ResponseWriter, r *http.Request) {
	items := []string{"lamp", "chair", "table"}
	prices, errs := make([][]byte, len(items)), make([]error, len(items))
	var all sync.WaitGroup
	for i, item := range items {
		all.Go(func() { prices[i], errs[i] = p.price(r.Context(), item) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fmt.Fprintf(w, "our offers: %s\n", bytes.Join(prices, []byte(", ")))
}

const maxPrice = 1 << 10 // bytes of the backend's answer

func (p *pricing) price(ctx context.Context, item string) ([]byte, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/price?item="+item, nil)
	if err != nil {
		return nil, err
	}
	answer, err := p.client.Do(ask)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(io.LimitReader(answer.Body, maxPrice))
}

var couriers = suite.Entry{
	Name: "pool-channel", Family: "wait", Truth: "wait", Kind: "pool", OrKind: "channel", Function: "main.(*fleet).deliver",
	InWords: "each request takes one of a few couriers from a channel and keeps it for some ms",
	Method:  "GET", Path: "/deliver", Invisible: []string{"none"},
	Remedies: []suite.Remedy{{InWords: "four times as many couriers", Scale: map[string]float64{"couriers": 4}, Bound: 0.75}},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		trip, n := d.Micros("trip_us", 2_000, 5_000), d.Between("couriers", 2, 4)
		return func() (*suite.Service, error) { return suite.Serving("GET /deliver", newFleet(n, trip).deliver), nil }
	},
}

type courier struct {
	trip  time.Duration
	trips int
}

func (c *courier) ride() int {
	time.Sleep(c.trip)
	c.trips++
	return c.trips
}

// fleet has a fixed number of couriers.
type fleet struct{ home chan *courier }

func newFleet(n int, trip time.Duration) *fleet {
	f := &fleet{make(chan *courier, n)}
	for range n {
		f.home <- &courier{trip: trip}
	}
	return f
}

func (f *fleet) deliver(w http.ResponseWriter, r *http.Request) {
	select {
	case c := <-f.home:
		trips := c.ride()
		f.home <- c
		fmt.Fprintf(w, "trip %d\n", trips)
	case <-r.Context().Done():
	}
}
