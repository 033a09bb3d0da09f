// Command leak is a shop's price page that leaks goroutines in two ways found in real code, or,
// with --fixed, in neither: the lab's diagnosis of leaks is checked against it.
//
//	leak                          both: a ticker that never stops, and a channel without a reader
//	leak --fixed ticker           the ticker's goroutine ends with its request
//	leak --fixed ticker,channel   no leak
//
// Each request calls two suppliers and uses the first answer; meanwhile a goroutine checks the
// request's age every second. Four requests call concurrently, so the service carries about 1,900/s
// with or without leaks. Leaked goroutines end with the process, and above a limit requests are
// refused: a leak must be found, but must not take the machine down.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"dyno/subjects/subject"
)

func main() {
	var addresses subject.Flags
	fs := flag.NewFlagSet("leak", flag.ContinueOnError)
	addresses.Declare(fs)
	fixed := fs.String("fixed", "", "the leaks to fix: ticker, channel or both, separated by a comma")
	subject.Parse(fs, os.Args[1:])
	p, err := newPage(*fixed)
	if err != nil {
		subject.Usage("leak", err)
	}
	subject.Main(addresses, subject.Subject{Name: "leak", Handler: p, Ready: map[string]any{"fixed": *fixed}})
}

const (
	// mostGoroutines bounds a leak: some 800 MB of stacks.
	mostGoroutines = 1 << 18
	// lookEvery is long enough that tens of thousands of tickers leave the CPU idle.
	lookEvery = time.Second
	// The suppliers' answer times, for which a request waits.
	quick, slow = 2 * time.Millisecond, 4 * time.Millisecond
	// atOnce is the number of requests that may call the suppliers: it bounds the speed of the leak.
	atOnce = 4
)

// page answers with the best price.
type page struct {
	stopTicker, readAll bool         // the leaks that are fixed
	goroutines          atomic.Int64 // started and not ended
	asking              chan struct{}
}

func newPage(fixed string) (*page, error) {
	p := &page{asking: make(chan struct{}, atOnce)}
	for _, leak := range strings.FieldsFunc(fixed, func(r rune) bool { return r == ',' }) {
		switch leak {
		case "ticker":
			p.stopTicker = true
		case "channel":
			p.readAll = true
		default:
			return nil, fmt.Errorf("--fixed names %q; there are ticker and channel", leak)
		}
	}
	return p, nil
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.goroutines.Load() > mostGoroutines {
		http.Error(w, "too many goroutines are left over", http.StatusServiceUnavailable)
		return
	}
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-r.Context().Done():
		return
	}
	ctx := context.WithoutCancel(r.Context()) // the first leak: this goroutine outlives the request
	if p.stopTicker {
		ctx = r.Context()
	}
	p.start(func() { watch(ctx, time.Now()) })
	fmt.Fprintf(w, "%d cents\n", p.best())
}

// start starts a goroutine and counts it until it ends.
func (p *page) start(f func()) {
	p.goroutines.Add(1)
	go func() {
		defer p.goroutines.Add(-1)
		f()
	}()
}

// watch checks the age of a request until ctx ends.
func watch(ctx context.Context, began time.Time) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if age := time.Since(began); age > time.Hour {
				fmt.Fprintf(os.Stderr, "leak: a request is %v old\n", age)
			}
		case <-ctx.Done():
			return
		}
	}
}

// best calls both suppliers and returns the first price.
func (p *page) best() int {
	prices := make(chan int) // the second leak: the second price has no receiver
	if p.readAll {
		prices = make(chan int, 2)
	}
	p.start(func() { quote(prices, 101, quick) })
	p.start(func() { quote(prices, 99, slow) })
	return <-prices
}

// quote is a slow supplier.
func quote(prices chan<- int, cents int, takes time.Duration) {
	time.Sleep(takes)
	prices <- cents
}
