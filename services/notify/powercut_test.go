package notify

import (
	"context"
	"net/http/httptest"
	"path"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/quicktest"
	"dyno/parts/vfs/faultdisk"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/soak"
)

// Nothing that was acknowledged is lost when the power goes, on a disk that is harsher than real
// ones. The soak does the same with the whole program on a file system of the kernel's.
func TestPowerCut(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	choice, err := Assembly().Resolve(assembly.Tuned, map[string]string{
		"backoff": "5ms", "max_backoff": "50ms", "max_attempts": "12", "timeout": "1m", "window": "64"})
	if err != nil {
		t.Fatal(err)
	}
	disk := faultdisk.New()
	c := FromChoice(choice)
	c.AllowPrivate = true
	c.testing.openBackend = func(_ dispatch.StoreOptions, name string) (wal.Backend, error) {
		return segment.Open(path.Join("/", name), segment.Options{FS: disk, SegmentBytes: 256 << 10}) // many segments
	}
	start := func() (*soak.Instance, error) {
		d, err := New(c)
		if err != nil {
			return nil, err
		}
		web := httptest.NewServer(d.Handler())
		end := func(ctx context.Context) error {
			d.stream.Close()
			web.CloseClientConnections()
			web.Close()
			_, err := d.Close(ctx)
			return err
		}
		return &soak.Instance{
			URL: web.URL,
			Crash: func() {
				seed++
				disk = disk.Crash(seed)
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				end(ctx) // fails: it has no disk
			},
			Stop: func() error { return end(context.Background()) },
		}, nil
	}
	summary, err := soak.Run(t.Context(), soak.Config{Start: start, Crashes: quicktest.Of(1, 4), Seed: seed, Log: t.Logf})
	if summary != nil {
		t.Logf("\n%s", summary)
	}
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
}
