package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/parts/daemon"
	"dyno/parts/xrpl"
	"dyno/services/ledger/store/flat"
)

// Repaired is what RepairFolder did.
type Repaired struct {
	Quarantined []string `json:"quarantined"` // in the folder of that name: bytes that are no records, and the old index
	Bytes       int64    `json:"bytes"`       // of the packs that are no records
}

// RepairFolder opens the store of a data folder that nothing else uses, whatever became of its files. It copies bytes of
// the packs that are no records to the quarantine, moves the index there, and makes a new one of all ledgers that were proved and
// prove again to be what they were. What is lost is missing then, to be synced; answers that wait for their proof still
// do. Marks that the packs have lost come from the old index; a Check at L4 finds those that it had not. An interrupted
// repair may be run again: the old index leaves the folder "repairing" only when the new one has all it had.
func RepairFolder(dir string, o Options) (s *Store, r Repaired, err error) {
	lock, err := daemon.DataFolder{Format: Format, Upgrade: Upgrade}.OpenExisting(dir, service)
	if err != nil {
		return nil, r, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if o.FS == nil {
		o.FS = vfs.Default
	}
	had, marks, err := r.clear(o.FS, dir)
	if err != nil {
		return nil, r, fmt.Errorf("repairing %s: %w", dir, err)
	}
	o.ReadOnly, o.Accounts = false, ""
	if had.Accounts == "on" {
		o.Accounts = "on"
	}
	if s, err = openStore(dir, o, true); err != nil {
		return nil, r, err
	}
	// What the packs say of the progress may be lost with them.
	if had.Progress.Range().Len() > 0 && had.Progress.Range() != s.Progress().Range() {
		if err = s.Append(nil, had.Progress); err != nil {
			return nil, r, errors.Join(err, s.Close())
		}
	}
	if err = s.markAgain(marks); err != nil {
		return nil, r, errors.Join(err, s.Close())
	}
	if err = r.quarantineIndex(o.FS, dir, repairingFolder); err != nil {
		return nil, r, errors.Join(err, s.Close())
	}
	s.lock = lock
	return s, r, nil
}

// clear moves damaged bytes of the packs into the quarantine and the index aside, and returns what it could read in the
// index, and in that of a repair that was interrupted.
func (r *Repaired) clear(fs vfs.FS, dir string) (had proved, marks map[uint32]string, err error) {
	quarantine := fs.PathJoin(dir, quarantineFolder)
	if err := fs.MkdirAll(quarantine, 0o755); err != nil {
		return had, nil, err
	}
	r.Quarantined = []string{}
	packs, err := flat.Open(fs.PathJoin(dir, packsFolder), flat.Options{FS: fs})
	if err != nil {
		return had, nil, err
	}
	err = packs.Scan(flat.Position{}, func(flat.Ref, []byte) error { return nil }, func(d flat.Damage) error {
		name := fmt.Sprintf("%s.%d-%d", d.File.Name, d.From, d.To)
		r.Quarantined = append(r.Quarantined, name)
		r.Bytes += d.To - d.From
		return packs.Copy(d, fs.PathJoin(quarantine, name))
	})
	if err = errors.Join(err, packs.Close()); err != nil {
		return had, nil, err
	}
	index, aside := fs.PathJoin(dir, indexFolder), fs.PathJoin(dir, repairingFolder)
	marks = map[uint32]string{}
	_, first := fs.Stat(aside)
	for _, from := range []string{aside, index} { // the newer overrules
		salvage(fs, from, &had, marks)
	}
	if first != nil && r.Bytes == 0 {
		marks = nil // the packs have them all
	}
	if _, missing := fs.Stat(index); missing != nil {
		return had, marks, nil
	}
	if first != nil {
		return had, marks, fs.Rename(index, aside)
	}
	return had, marks, r.quarantineIndex(fs, dir, indexFolder)
}

// quarantineIndex moves a folder that holds an index into the quarantine, if it exists.
func (r *Repaired) quarantineIndex(fs vfs.FS, dir, folder string) error {
	from := fs.PathJoin(dir, folder)
	if _, missing := fs.Stat(from); missing != nil {
		return nil
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d", indexFolder, n)
		to := fs.PathJoin(dir, quarantineFolder, name)
		if _, missing := fs.Stat(to); missing != nil {
			r.Quarantined = append(r.Quarantined, name)
			return fs.Rename(from, to)
		}
	}
}

// salvage adds what an index says of its ledgers, if there is one that can be read.
func salvage(fs vfs.FS, dir string, had *proved, marks map[uint32]string) {
	db, err := openPebble(dir, pebbleOptions(fs, true))
	if err != nil {
		return
	}
	defer db.Close()
	old := &older{db: db}
	if accounts := old.text("accounts"); accounts != "" {
		had.Accounts = accounts
	}
	var progress Progress
	if json.Unmarshal([]byte(old.text("progress")), &progress) == nil && progress.Range().Len() > 0 {
		had.Progress = progress
	}
	it, err := db.NewIter(bounds(kindMark))
	if err != nil {
		return
	}
	defer it.Close()
	for it.First(); it.Valid(); it.Next() {
		if len(it.Key()) == 1+4 {
			marks[binary.BigEndian.Uint32(it.Key()[1:])] = string(it.Value())
		}
	}
}

// markAgain marks ledgers that an index had marked before it was made again, as far as they are stored and do not verify.
func (s *Store) markAgain(marks map[uint32]string) error {
	_, signature := xrpl.FastestChecker()
	v := xrpl.NewVerifier()
	for _, index := range slices.Sorted(maps.Keys(marks)) {
		var l xrpl.Ledger
		if s.Ledger(index, &l) != nil {
			continue
		}
		if _, err := v.Signatures(&l, signature); err == nil {
			continue
		}
		if err := s.Mark(index, marks[index]); err != nil {
			return err
		}
	}
	return nil
}
