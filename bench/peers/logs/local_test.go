package main

import (
	"strings"
	"sync"
	"testing"
)

// Every log of this process takes records from several writers, one record after the other.
func TestLocal(t *testing.T) {
	for _, name := range []string{"wal", "tidwall", "tidwall-group", "pebble", "disk"} {
		t.Run(name, func(t *testing.T) {
			l, err := logs[name](t.Context(), options{writers: 4, batch: 1, dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			var writing sync.WaitGroup
			for range 4 {
				writing.Go(func() {
					write, err := l.writer()
					for range 5 {
						if err == nil {
							err = write()
						}
					}
					if err != nil {
						t.Error(err)
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

// What a log cannot do is refused, not ignored.
func TestRefusals(t *testing.T) {
	if _, err := logs["wal"](t.Context(), options{batch: 64, dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "--batch 64") {
		t.Errorf("batches in this process: %v", err)
	}
	if _, err := logs["disk"](t.Context(), options{writers: 1, dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "--batch 0") {
		t.Errorf("a batch of nothing: %v", err)
	}
	if err := (options{outstanding: 512}).run(t.Context(), "wal", opened{}); err == nil || !strings.Contains(err.Error(), "--outstanding 512") {
		t.Errorf("asynchronous writes: %v", err)
	}
}
