package raw

import (
	"testing"

	"dyno/lab/load"
	"dyno/lab/load/loadtest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for _, variant := range []struct {
		name   string
		config Config
	}{
		{"epoll", Config{Backend: BackendEpoll}},
		{"uring", Config{Backend: BackendUring}},
		{"epoll-threads", Config{Backend: BackendEpoll, Threads: 2}},
	} {
		t.Run(variant.name, func(t *testing.T) {
			loadtest.Test(t, func(target string, corpus *load.Corpus, connections int) load.Driver {
				c := variant.config
				c.Target, c.Corpus = target, corpus
				d, err := New(c)
				if err != nil {
					t.Fatal(err)
				}
				return d
			})
		})
	}
}
