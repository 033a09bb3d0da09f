package api

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// What go-ethereum's clients send.
var criteria = []string{
	`{"fromBlock":"0x1","toBlock":"latest","address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","topics":["0x00000000000000000000000000000000000000000000000000000000656d6974",null]}`,
	`{"blockHash":"0x98f797a6af91ea770ab3a99d89c17a3a46d14c76db6bb711b18156a3493d2c94","address":["0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"]}`,
	`{"topics":[[],[null],["0x00000000000000000000000000000000000000000000000000000000656d6974"]]}`,
	`{"address":null,"topics":null}`, `{}`, `null`, `[]`, `{"topics":{}}`, `{"address":[7]}`,
}

func TestCriteria(t *testing.T) {
	for i, want := range map[int]string{0: "1 2", 1: "1 0", 2: "0 3", 3: "0 0", 4: "0 0", 5: "0 0"} {
		var c Criteria
		if err := json.Unmarshal([]byte(criteria[i]), &c); err != nil {
			t.Errorf("%s: %v", criteria[i], err)
			continue
		}
		text, _ := json.Marshal([]int{len(c.Addresses), len(c.Topics)}) // of two numbers
		if got := strings.Trim(strings.ReplaceAll(string(text), ",", " "), "[]"); got != want {
			t.Errorf("%s: %s, want %s", criteria[i], got, want)
		}
	}
	var c Criteria
	if err := json.Unmarshal([]byte(criteria[2]), &c); err != nil || len(c.Topics[1]) != 0 || len(c.Topics[2]) != 1 {
		t.Errorf("null in an array of topics means any: %v, %v", c.Topics, err)
	}
}

// A log that is selected is in a block whose bloom permits it.
func FuzzCriteria(f *testing.F) {
	for i, text := range criteria {
		f.Add([]byte(text), uint64(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		var c Criteria
		if json.Unmarshal(text, &c) != nil {
			return
		}
		if len(c.Topics) > mostTopics || len(c.Addresses) > mostValues || c.BlockHash != nil && (c.FromBlock != nil || c.ToBlock != nil) {
			t.Fatalf("%+v", c)
		}
		random := rand.New(rand.NewPCG(seed, 0))
		log := &types.Log{}
		if len(c.Addresses) > 0 {
			log.Address = c.Addresses[random.IntN(len(c.Addresses))]
		}
		for _, values := range c.Topics {
			topic := common.Hash{byte(random.Uint32())}
			if len(values) > 0 && random.IntN(8) > 0 {
				topic = values[random.IntN(len(values))]
			}
			log.Topics = append(log.Topics, topic)
		}
		bloom := types.CreateBloom(&types.Receipt{Logs: []*types.Log{log}})
		if c.Match(log) && !c.mayMatch(&bloom) {
			t.Errorf("%s selects %+v, and its bloom does not permit it", text, log)
		}
	})
}

func FuzzStorageKey(f *testing.F) {
	for _, text := range []string{"", "0x", "0x0", "0X1", "ff", "0xasdf", "0x" + strings.Repeat("0", 64), strings.Repeat("1", 65), "0x0x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, length, err := storageKey(text)
		if err != nil {
			return
		}
		again, _, err := storageKey(key.Hex())
		if err != nil || again != key || length > common.HashLength {
			t.Errorf("%q: %x of %d bytes; again %x, %v", text, key, length, again, err)
		}
	})
}
