package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dyno/parts/command"
	"dyno/services/arena/recording"
)

var errDiffers = errors.New("the replay comes to another state than the room did")

// replayCommand plays a recording again.
func replayCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Play a room's recording again, and compare the states",
		Long: `Replay plays what was recorded of a room (POST /v1/rooms with "record": true; files are in DATA/recordings), tick for tick,
and compares the hashes of the states. The exit code is 1 where they differ or where the file is damaged.`,
		Example: `  arenad replay arenad-data/recordings/4GZK2QPA.rec
  arenad replay arenad-data/recordings/4GZK2QPA.rec --json`,
		Args: command.Arguments(1, 1, "a file, such as arenad-data/recordings/ROOM.rec"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := recording.Replay(args[0])
			if damage := (*recording.DamageError)(nil); err != nil && !errors.As(err, &damage) {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON {
				if err := json.NewEncoder(out).Encode(r); err != nil {
					return err
				}
			} else {
				fmt.Fprintf(out, "room %s: %d ticks, hash %v, recorded %v\n", r.Header.Room, r.Ticks, r.Hash, r.RecordedHash)
				if r.Differs > 0 {
					fmt.Fprintf(out, "tick %d is the first that differs\n", r.Differs)
				}
				if r.Incomplete != "" {
					fmt.Fprintf(out, "the recording ends before its room did: %s\n", r.Incomplete)
				}
			}
			if err == nil && !r.OK {
				return errDiffers
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}
