package perf

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// TestMain also runs the process that the test profiles, which is the same binary.
func TestMain(m *testing.M) {
	if os.Getenv("PERF_SUBJECT") != "" {
		os.Stdout.WriteString("ready\n")
		grind(time.Now().Add(time.Minute)) // the test kills the process
		return
	}
	os.Exit(m.Run())
}

//go:noinline
func grind(until time.Time) uint64 {
	sum := uint64(1)
	for sum != 0 {
		for range 1_000_000 {
			sum = sum*6364136223846793005 + 1442695040888963407 | 1
		}
		if time.Now().After(until) {
			break
		}
	}
	return sum
}

func TestProfileFromOutside(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PERF_SUBJECT=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for length := 500 * time.Millisecond; ; length *= 4 {
		encoded, err := Profile(t.Context(), cmd.Process.Pid, length)
		if errors.Is(err, ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		grinding, all := grindingOf(t, encoded)
		if all == 0 && length < 30*time.Second {
			continue // a busy machine gave the process no CPU
		}
		if all == 0 || grinding < all/2 {
			t.Errorf("%d of %d samples are where the process spends its time", grinding, all)
		}
		return
	}
}

// grindingOf counts the samples of a profile, and those in grind.
func grindingOf(t *testing.T, encoded []byte) (grinding, all int) {
	t.Helper()
	p, err := profile.Parse(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		all++
		for _, l := range s.Location {
			if strings.HasSuffix(l.Line[0].Function.Name, "perf.grind") {
				grinding++
				break
			}
		}
	}
	return grinding, all
}

func TestWhatIsNoGoProgram(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if _, err := Profile(t.Context(), cmd.Process.Pid, time.Millisecond); !errors.Is(err, ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Profile(ctx, os.Getpid(), time.Minute); err == nil {
		t.Error("a cancelled profile ended well")
	}
}

func TestLoadedAt(t *testing.T) {
	maps := []byte("5581c0000000-5581c0400000 r--p 00000000 08:01 1234 /srv/app\n" +
		"5581c0400000-5581c0800000 r-xp 00400000 08:01 1234 /srv/app\n7f00-7f01 rw-p 00000000 00:00 0\n")
	if at := loadedAt(maps, "/srv/app"); at != 0x5581c0000000 {
		t.Errorf("%x", at)
	}
	if at := loadedAt(maps, "/srv/other"); at != 0 {
		t.Errorf("%x", at)
	}
}

// laidOut returns a sample record in the layout of the kernel.
func laidOut(ip uint64, chain ...uint64) []byte {
	b := binary.NativeEndian.AppendUint32(nil, 9)
	b = binary.NativeEndian.AppendUint16(b, 0)
	b = binary.NativeEndian.AppendUint16(b, uint16(8+16+8*len(chain)))
	b = binary.NativeEndian.AppendUint64(b, ip)
	b = binary.NativeEndian.AppendUint64(b, uint64(len(chain)))
	for _, pc := range chain {
		b = binary.NativeEndian.AppendUint64(b, pc)
	}
	return b
}
