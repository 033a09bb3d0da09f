package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"dyno/parts/progress"
)

// Records are acknowledged one by one, in batches, and asynchronously.
func TestPublish(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	r, ready := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serveStream(ctx, t.TempDir(), ready) }()
	url, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimSpace(url)
	if err := makeStream(ctx, url); err != nil {
		t.Fatal(err)
	}
	for _, batch := range []int{1, 5} {
		call, err := publisher(ctx, url, batch)
		for range 3 {
			if err == nil {
				err = call()
			}
		}
		if err != nil {
			t.Errorf("batches of %d: %v", batch, err)
		}
	}
	publishing, enough := context.WithTimeout(ctx, 200*time.Millisecond)
	defer enough()
	var said strings.Builder
	w := progress.New(&said)
	err = publishAsync(publishing, w, url, 16)
	if w.Close(err); err != nil && publishing.Err() == nil || !strings.Contains(said.String(), "completed") {
		t.Errorf("asynchronously: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
