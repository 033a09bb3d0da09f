package segment_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"dyno/parts/quicktest"
	"dyno/parts/vfs/faultdisk"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"

	"go.uber.org/goleak"
)

var kills = flag.Int("kills", 20, "how often TestKilled kills the process that appends")

// killDir names the folder of the log to which a copy of the test binary appends until it is
// killed.
const killDir = "SEGMENT_TEST_APPEND_TO"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		fmt.Fprintln(os.Stderr, appendForever(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// appendForever appends batches from eight goroutines and prints the first number and the name of
// each when it is durable.
func appendForever(dir string) error {
	files, err := segment.Open(dir, segment.Options{SegmentBytes: 20_000, Log: quiet})
	if err != nil {
		return err
	}
	l := wal.New(files, wal.Options{Commit: wal.Group})
	failed := make(chan error)
	for g := range 8 {
		go func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%d-%d-%d", os.Getpid(), g, i)
				n := 1 + rand.IntN(4)
				first, err := l.Append(named(name, n), nil)
				if err == nil {
					_, err = fmt.Printf("%d %s\n", first, name)
				}
				if err == nil && i%10 == 0 {
					err = l.AppendAsync(named("lazy-"+name, n), nil)
				}
				if err != nil {
					failed <- err
				}
			}
		}()
	}
	return <-failed
}

// named returns a batch whose records say where they belong: name, index and number of records.
func named(name string, n int) [][]byte {
	var batch [][]byte
	for i := range n {
		batch = append(batch, fmt.Appendf(nil, "%s %d/%d%s", name, i, n, strings.Repeat(".", rand.IntN(300))))
	}
	return batch
}

// TestKilled repeatedly kills a process that appends: every acknowledged batch exists under its
// number, and no batch exists in part.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[uint64]string{}
	for range quicktest.Of(4, *kills) {
		killOne(t, dir, 1+rand.IntN(300), func(first uint64, name string) {
			if old, twice := acknowledged[first]; twice {
				t.Fatalf("number %d was given to %s and to %s", first, old, name)
			}
			acknowledged[first] = name
		})
		checkBatches(t, dir, acknowledged)
	}
	t.Logf("%d batches acknowledged, killed %d times", len(acknowledged), *kills)
}

// killOne runs a process until it has acknowledged n batches, kills it, and reports each
// acknowledgement.
func killOne(t *testing.T, dir string, n int, acknowledged func(uint64, string)) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for i := 0; ; i++ {
		if i == n {
			_ = cmd.Process.Kill()
		}
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		var first uint64
		var name string
		if _, err := fmt.Sscan(line, &first, &name); err != nil {
			t.Fatalf("the process printed %q: %v", line, err)
		}
		acknowledged(first, name)
	}
	if err := cmd.Wait(); err == nil || stderr.Len() > 0 {
		t.Fatalf("the process ended before it was killed: %v: %s", err, stderr.String())
	}
}

func checkBatches(t *testing.T, dir string, acknowledged map[uint64]string) {
	files, err := segment.Open(dir, segment.Options{SegmentBytes: 20_000, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer closeFiles(t, files)
	found, left := 0, 0
	var current string
	var length int
	err = files.Scan(1, func(seq uint64, record []byte) error {
		var name, place string
		if _, err := fmt.Sscan(string(record), &name, &place); err != nil {
			return fmt.Errorf("record %d is %q", seq, record)
		}
		var i, n int
		if _, err := fmt.Sscanf(place, "%d/%d", &i, &n); err != nil {
			return err
		}
		if left == 0 {
			current, length, left = name, n, n
			if want, ok := acknowledged[seq]; ok && want != name {
				return fmt.Errorf("number %d was acknowledged to %s and is %s", seq, want, name)
			} else if ok {
				found++
			}
		}
		if name != current || n != length || i != n-left {
			return fmt.Errorf("record %d is %s %s within %s, of which %d are missing", seq, name, place, current, left)
		}
		left--
		return nil
	})
	if err != nil || left != 0 || found != len(acknowledged) {
		t.Fatalf("%d of %d acknowledged batches found, %d records missing at the end: %v", found, len(acknowledged), left, err)
	}
	if q := files.Quarantined(); len(q) > 0 {
		t.Fatalf("a killed process has left damage: %v", q)
	}
}

// TestPowerCut appends from many goroutines while the disk fails a sync, fills up, and loses power.
func TestPowerCut(t *testing.T) {
	disk := faultdisk.New()
	acknowledged := map[uint64]string{}
	for round := range uint64(40) {
		rng := rand.New(rand.NewPCG(round, 1))
		files, err := segment.Open("/log", segment.Options{FS: disk, SegmentBytes: 5000, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		checkAcknowledged(t, files, acknowledged)
		l := wal.New(files, wal.Options{Commit: wal.Commit(round % 2)})
		if rng.IntN(2) == 0 {
			disk.FailSync(1 + rng.IntN(10))
		}
		acks := make(chan string, 8) // "number name"
		var wg sync.WaitGroup
		off := make(chan struct{})
		for g := range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-off:
						return
					default:
					}
					name := fmt.Sprintf("%d-%d-%d", round, g, i)
					if first, err := l.Append(named(name, 3), nil); err == nil {
						acks <- fmt.Sprintf("%d %s", first, name)
					} else if err := l.AppendAsync(named("lazy-"+name, 2), nil); err != nil {
						return
					}
				}
			})
		}
		go func() { wg.Wait(); close(acks) }()
		after, cut := disk, 1+rng.IntN(60)
		n := 0
		for ack := range acks {
			var first uint64
			var name string
			if _, err := fmt.Sscan(ack, &first, &name); err != nil {
				t.Fatal(err)
			}
			if old, twice := acknowledged[first]; twice {
				t.Fatalf("number %d was given to %s and to %s", first, old, name)
			}
			acknowledged[first] = name
			if n++; n == cut {
				after = disk.Crash(round)
				close(off)
			}
		}
		_ = l.Close() // the machine is off: it fails
		disk = after
	}
	if len(acknowledged) < 100 {
		t.Fatalf("only %d batches were acknowledged in all", len(acknowledged))
	}
}

func checkAcknowledged(t *testing.T, files *segment.Files, acknowledged map[uint64]string) {
	t.Helper()
	found := 0
	err := files.Scan(1, func(seq uint64, record []byte) error {
		want, ok := acknowledged[seq]
		if ok && !strings.HasPrefix(string(record), want+" 0/3") {
			return fmt.Errorf("number %d was acknowledged to %s and is %.40q", seq, want, record)
		}
		if ok {
			found++
		}
		return nil
	})
	if err != nil || found != len(acknowledged) {
		t.Fatalf("%d of %d acknowledged batches found: %v", found, len(acknowledged), err)
	}
}
