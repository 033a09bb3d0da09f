package testchain

import (
	"github.com/ethereum/go-ethereum/core/rawdb"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/hashdb"
)

// states are the tries of all states, in memory.
type states struct {
	*gethstate.MPTDatabase
	tries *triedb.Database
	disk  ethdb.Database // has codes, and what a checkpoint had
}

func newStates() *states {
	disk := rawdb.NewMemoryDatabase()
	tries := triedb.NewDatabase(disk, &triedb.Config{Preimages: true, HashDB: hashdb.Defaults})
	return &states{gethstate.NewMPTDatabase(tries, gethstate.NewCodeDB(disk)), tries, disk}
}
