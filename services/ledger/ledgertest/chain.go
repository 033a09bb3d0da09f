package ledgertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dyno/parts/servicetest/program"
)

// answer is what servers answer and export prints, both with the first and the second version of
// the shape.
type answer struct {
	Result *struct {
		Error  string
		Hash   string `json:"ledger_hash"`
		Index  uint32 `json:"ledger_index"`
		Ledger struct {
			Data         string `json:"ledger_data"`
			Transactions []struct {
				Blob     string `json:"tx_blob"`
				Meta     string `json:"meta"`
				MetaBlob string `json:"meta_blob"`
			}
		}
	}
}

// content is a ledger's hash, and all its bytes as text in one order.
type content struct{ hash, text string }

func readAnswer(line []byte) (index uint32, c content, err error) {
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return 0, c, fmt.Errorf("%.100q: %w", line, err)
	}
	if a.Result == nil || a.Result.Error != "" || a.Result.Ledger.Data == "" {
		return 0, c, fmt.Errorf("no ledger: %.200q", line)
	}
	var all []string
	for _, t := range a.Result.Ledger.Transactions {
		all = append(all, t.Blob+" "+t.Meta+t.MetaBlob)
	}
	slices.Sort(all)
	c = content{strings.ToUpper(a.Result.Hash), strings.ToUpper(a.Result.Ledger.Data + " " + strings.Join(all, " "))}
	return a.Result.Index, c, nil
}

// contents are what is true, by index.
type contents map[uint32]content

// Truth is what an honest server says of a range.
type Truth struct {
	From, To uint32 // the lowest and the highest ledger
	chain    contents
}

// ReadTruth asks an honest server for a range.
func ReadTruth(t testing.TB, url string, from, to uint32) Truth {
	t.Helper()
	return Truth{from, to, readChain(t, url, from, to)}
}

// Holds checks that exactly that is stored in a folder, byte by byte, and that check finds nothing
// wrong.
func (x Truth) Holds(t testing.TB, start program.Start, dir string) {
	t.Helper()
	c := &client{t: t, scope: scope{start: start}, dir: dir, world: &world{truth: x.chain}}
	out, _ := c.run(0, "export", "--data", dir)
	c.isTrue(readLines(t, out), span(x.From, x.To))
	c.run(0, "check", "--data", dir)
}

// readChain asks a server for all ledgers of a range.
func readChain(t testing.TB, url string, from, to uint32) contents {
	t.Helper()
	c := contents{}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for want := from; want <= to; want++ {
		index, is, err := c.ask(client, url, want)
		if err != nil || index != want {
			t.Fatalf("ledger %d: %d, %v", want, index, err)
		}
		c[index] = is
	}
	return c
}

func (c contents) ask(client *http.Client, url string, index uint32) (uint32, content, error) {
	q := fmt.Sprintf(`{"method":"ledger","params":[{"ledger_index":%d,"transactions":true,"expand":true,"binary":true}]}`, index)
	resp, err := client.Post(url, "application/json", strings.NewReader(q))
	if err != nil {
		return 0, content{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, content{}, err
	}
	return readAnswer(body)
}

// readLines reads an export.
func readLines(t testing.TB, text string) contents {
	t.Helper()
	c := contents{}
	for line := range bytes.Lines([]byte(text)) {
		index, is, err := readAnswer(line)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := c[index]; twice {
			t.Fatalf("ledger %d is exported twice", index)
		}
		c[index] = is
	}
	return c
}

// Hash is that of a ledger, in hex.
func (x Truth) Hash(index uint32) string { return x.chain[index].hash }
