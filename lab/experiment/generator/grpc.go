package generator

import (
	"context"
	"fmt"
	"io"
	"net/url"

	"dyno/lab/load/grpcload"
	"dyno/lab/load/grpcload/protosource"
	"dyno/lab/load/request"
	"dyno/lab/scenario"
)

// maxDescriptors bounds a file of descriptors, in bytes.
const maxDescriptors = 16 << 20

// grpc makes the driver of gRPC calls.
func (b *Generator) grpc(ctx context.Context, l scenario.Load, u *url.URL, requests *request.Corpus) (*grpcload.Driver, error) {
	c := grpcload.Config{Target: u.Scheme + "://" + u.Host, Call: l.Call, Corpus: requests, Streams: l.Pipeline, TLS: b.tls()}
	if len(l.Proto) > 0 {
		var err error
		if c.Descriptors, err = protosource.Compile(ctx, b.resolved(l.Proto), b.resolved(l.ProtoPath)); err != nil {
			return nil, fmt.Errorf("load.proto: %w", err)
		}
	}
	if l.Descriptors != "" {
		var err error
		c.Descriptors, err = readFile(b.Scenario, l.Descriptors, func(r io.Reader) ([]byte, error) {
			content, err := io.ReadAll(io.LimitReader(r, maxDescriptors+1))
			if err == nil && len(content) > maxDescriptors {
				err = fmt.Errorf("larger than %d MiB", maxDescriptors>>20)
			}
			return content, err
		})
		if err != nil {
			return nil, fmt.Errorf("load.descriptors %s: %w", l.Descriptors, err)
		}
	}
	return grpcload.New(ctx, c)
}

func (b *Generator) resolved(names []string) (out []string) {
	for _, name := range names {
		out = append(out, b.Scenario.Resolve(name))
	}
	return out
}
