package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/services/chain/execution"
)

// longestLine bounds a line of hexadecimal: some hundred times the largest transaction that a pool
// of Ethereum accepts (128 KB).
const longestLine = 32 << 20

// decodeCommand judges transactions.
func decodeCommand() *cobra.Command {
	var on string
	var chainID uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "decode",
		Short: "Decode transactions, and judge them as a fork does",
		Long: `Decode reads transactions from stdin, one in hexadecimal on each line, and prints a JSON object on a line for each:
{"hash":..,"sender":..,"intrinsicGas":..}, or {"error":..} where the fork refuses the transaction whatever the state is.`,
		Example: `  echo 0xf86b80... | chaind decode --fork Prague --chain-id 1337`,
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := execution.ForkConfig(on, new(big.Int).SetUint64(chainID))
			if err != nil {
				return daemon.Usage(fmt.Errorf("--fork: %w", err))
			}
			judge := execution.NewJudge(config, new(big.Int), execution.Merged(config), 0)
			return decode(cmd.InOrStdin(), cmd.OutOrStdout(), judge)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&on, "fork", "Prague", "the `NAME` of the fork that judges")
	flags.Uint64Var(&chainID, "chain-id", 1337, "the `NUMBER` of the chain that the transactions must be for")
	flags.BoolVar(&asJSON, "json", true, "print JSON, which is the only form that there is")
	return cmd
}

// decoded is what decode prints about one transaction.
type decoded struct {
	Hash         *common.Hash    `json:"hash,omitempty"`
	Sender       *common.Address `json:"sender,omitempty"`
	IntrinsicGas *hexutil.Uint64 `json:"intrinsicGas,omitempty"`
	Error        string          `json:"error,omitempty"`
}

// decode prints a line for each line that it reads.
func decode(in io.Reader, out io.Writer, judge execution.Judge) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	buffered := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		if err := encoder.Encode(decodeLine(lines.Bytes(), judge)); err != nil {
			return err
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("a line of stdin is longer than %d bytes", longestLine)
	}
	return errors.Join(err, buffered.Flush())
}

func decodeLine(line []byte, judge execution.Judge) decoded {
	line = bytes.TrimSpace(line)
	if !bytes.HasPrefix(line, []byte("0x")) {
		line = append([]byte("0x"), line...)
	}
	raw, err := hexutil.Decode(string(line))
	if err != nil {
		return decoded{Error: err.Error()}
	}
	tx, err := execution.DecodeTransaction(raw)
	if err != nil {
		return decoded{Error: err.Error()}
	}
	verdict, err := judge.Judge(tx)
	if err != nil {
		return decoded{Error: err.Error()}
	}
	hash, gas := tx.Hash(), hexutil.Uint64(verdict.IntrinsicGas)
	return decoded{Hash: &hash, Sender: &verdict.Sender, IntrinsicGas: &gas}
}
