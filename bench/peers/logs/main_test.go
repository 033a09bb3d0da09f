package main

import (
	"sync"
	"testing"

	"dyno/bench/peers/callers"
)

// Every log takes records from several writers.
func TestLogs(t *testing.T) {
	for name, open := range logs {
		t.Run(name, func(t *testing.T) {
			l, err := open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			record := callers.Records(1)[0]
			var writing sync.WaitGroup
			for range 4 {
				writing.Go(func() {
					for range 5 {
						if err := l.write(record); err != nil {
							t.Error(err)
						}
					}
				})
			}
			writing.Wait()
			if err := l.close(); err != nil {
				t.Error(err)
			}
		})
	}
}
