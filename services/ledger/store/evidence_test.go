package store

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/store/record"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
	"dyno/services/ledger/xrpl/xrpltest"
)

func openedShelf(t *testing.T, disk vfs.FS) *Shelf {
	t.Helper()
	codec, err := record.NewCodec("")
	if err != nil {
		t.Fatal(err)
	}
	s, err := openShelf("evidence", shelfOptions{FS: disk, Codec: codec, Room: func(int) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close(); codec.Close() })
	return s
}

func TestEvidence(t *testing.T) {
	disk := vfs.NewMem()
	s := openedShelf(t, disk)
	chain := xrpltest.Chain(1, 5, 2, 2)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range maxAnswers + 2 {
		if i == 2 { // a file with only outdated answers
			if err := s.close(); err != nil {
				t.Fatal(err)
			}
			s = openedShelf(t, disk)
		}
		if err := s.Keep(WrongAnswer{Server: "http://a", Index: 5, Reason: "wrong", Time: at, Ledger: *chain[0]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	s = openedShelf(t, disk)
	wrong := s.All()
	if len(wrong) != maxAnswers || wrong[0].Sequence != 3 || wrong[0].Server != "http://a" || !wrong[0].Time.Equal(at) || wrong[0].Index != 5 {
		t.Fatalf("%d are kept, the first is %+v", len(wrong), wrong[0])
	}
	text, err := s.Answer(3)
	if err != nil || !bytes.Equal(text, answer.AppendLine(nil, chain[0])) {
		t.Fatalf("%.100s, %v", text, err)
	}
	if _, err := s.Answer(2); !errors.Is(err, ErrNotKept) {
		t.Fatalf("the oldest is there: %v", err)
	}
	if files := s.files.List(0); len(files) != 1 || files[0].Number != 2 {
		t.Fatalf("the files are %v", files)
	}
}

// Large answers remove the oldest, and one that is too large is cut.
func TestEvidenceIsBounded(t *testing.T) {
	s := openedShelf(t, vfs.NewMem())
	if err := s.Keep(WrongAnswer{}); err != nil {
		t.Fatal(err)
	}
	s.items[0].Stored, s.bytes = maxBytes-100, maxBytes-100
	huge := xrpl.Ledger{Transactions: []xrpl.Transaction{{Blob: make([]byte, maxAnswer)}}}
	if err := s.Keep(WrongAnswer{Ledger: huge}); err != nil {
		t.Fatal(err)
	}
	if wrong := s.All(); len(wrong) != 1 || wrong[0].Sequence != 2 || wrong[0].Kept != maxAnswer || wrong[0].Size <= 2*maxAnswer || s.bytes != wrong[0].Stored {
		t.Fatalf("%+v, %d bytes", wrong, s.bytes)
	}
}

// unreadable is a disk whose files cannot be read, and counts those that are open.
type unreadable struct {
	vfs.FS
	open int
}

type unreadableFile struct {
	vfs.File
	disk *unreadable
}

func (u *unreadable) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := u.FS.Open(name, o...)
	u.open++
	return unreadableFile{f, u}, err
}

func (unreadableFile) ReadAt([]byte, int64) (int, error) { return 0, errors.New("the disk is broken") }
func (f unreadableFile) Close() error                    { f.disk.open--; return f.File.Close() }

func TestUnreadableFilesAreClosed(t *testing.T) {
	disk := vfs.NewMem()
	s := openedShelf(t, disk)
	if err := errors.Join(s.Keep(WrongAnswer{}), s.close()); err != nil {
		t.Fatal(err)
	}
	broken := &unreadable{FS: disk}
	if _, err := openShelf("evidence", shelfOptions{FS: broken}); err == nil || broken.open != 0 {
		t.Errorf("%v, and %d files are open", err, broken.open)
	}
}
