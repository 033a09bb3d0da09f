// Package mirrorpb is the mirror's wire format and gRPC service, generated from mirror.proto. It is
// not for anything written by hand. It starts no goroutines but those of gRPC, which end with the
// connection.
package mirrorpb

// It needs protoc (Debian's protobuf-compiler); the two plugins are built on the way.
//go:generate ./generate.sh
