package postgres

import (
	"maps"
	"slices"
	"strconv"
)

// defaults are the settings that Options.Settings goes over.
var defaults = map[string]string{
	"max_connections":         "100",
	"shared_buffers":          "128MB",
	"synchronous_commit":      "on",
	"unix_socket_directories": "", // TCP only: a socket's name may have some 100 bytes, and data folders lie deep
	"timezone":                "UTC",
	"log_timezone":            "UTC",
	"lc_messages":             "C",
	"logging_collector":       "off", // the keeper writes the log, and bounds it
}

// arguments returns postgres's command line, in a fixed order.
func (s *Server) arguments() []string {
	settings := maps.Clone(defaults)
	maps.Copy(settings, s.options.Settings)
	settings["listen_addresses"] = s.address.Addr().String()
	settings["port"] = strconv.Itoa(int(s.address.Port()))
	args := []string{"-D", s.cluster.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}
