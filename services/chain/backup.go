package chain

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"dyno/parts/daemon"
	"dyno/parts/wal/segment/backup"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/journal"
	"dyno/services/chain/node"
	"dyno/services/chain/store"
)

// backups streams the data folder of a running node as a tar that a new process can start from: the
// journal and the blocks. Its states are made again of the blocks.
func (f *nodes) backups(env *daemon.Env, n *node.Node) http.Handler {
	if f.consensus == "raft" || f.follow != "" {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"only a solo node is backed up while it runs: of several, each has the whole chain, and a node that starts on a new folder gets it from the others"}`, http.StatusNotImplemented)
		})
	}
	return backup.Handler(blockchain.Service, func() (s *backup.Snapshot, err error) {
		n.Pause(func() { s, err = snapshot(env.Data, n.Chain().Blocks) })
		return s, err
	}, env.Log)
}

// copied is where the copy of the blocks is while a backup begins: links to their tables. A process
// that was killed then leaves it.
const copied = "backup"

// snapshot opens the files of a data folder in which no block is sealed meanwhile.
func snapshot(dir string, blocks *store.Store) (s *backup.Snapshot, err error) {
	copied := filepath.Join(dir, copied)
	if err := os.RemoveAll(copied); err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(copied)) // the files are open
		if err != nil && s != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}()
	if err := blocks.Copy(copied); err != nil {
		return nil, err
	}
	if s, err = backup.Open(dir, journal.Folder); err != nil {
		return nil, err
	}
	const last = "FORMAT" // parts/datadir wants it last
	return s, errors.Join(s.Add(copied, blockchain.BlocksFolder), s.Add(filepath.Join(dir, last), last))
}
