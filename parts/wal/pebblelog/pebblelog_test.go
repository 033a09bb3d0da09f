package pebblelog

import (
	"testing"

	"go.uber.org/goleak"

	"dyno/parts/wal"
	"dyno/parts/wal/waltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	waltest.Test(t, func(t testing.TB, dir string) wal.Backend {
		b, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}
