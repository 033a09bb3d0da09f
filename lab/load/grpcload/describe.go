package grpcload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// mostFiles bounds the number of descriptor files that a target's reflection may return.
const mostFiles = 10_000

// descriptors returns the descriptors of the service that the driver calls, and the service's
// name.
func (d *Driver) descriptors(ctx context.Context) (set *descriptorpb.FileDescriptorSet, service string, err error) {
	service, name, ok := strings.Cut(d.config.Call, "/")
	if !ok || !protoreflect.FullName(service).IsValid() || !protoreflect.Name(name).IsValid() {
		return nil, "", fmt.Errorf("call %q: write package.Service/Method, as in shop.Orders/Create", d.config.Call)
	}
	set = &descriptorpb.FileDescriptorSet{}
	if d.config.Descriptors != nil {
		err = proto.Unmarshal(d.config.Descriptors, set)
	} else {
		set, err = d.reflect(ctx, service)
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the descriptors of %s: %w", service, err)
	}
	return set, service, nil
}

func (d *Driver) describe(ctx context.Context) (protoreflect.MethodDescriptor, error) {
	set, service, err := d.descriptors(ctx)
	if err != nil {
		return nil, err
	}
	_, name, _ := strings.Cut(d.config.Call, "/")
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("the descriptors of %s: %w", service, err)
	}
	return find(files, service, name)
}

// find returns a method; its error lists the services or methods that do exist.
func find(files *protoregistry.Files, service, name string) (protoreflect.MethodDescriptor, error) {
	found, err := files.FindDescriptorByName(protoreflect.FullName(service))
	s, ok := found.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return nil, fmt.Errorf("the descriptors have no service %s; they have %s", service, names(files))
	}
	if m := s.Methods().ByName(protoreflect.Name(name)); m != nil {
		return m, nil
	}
	var methods []string
	for i := range s.Methods().Len() {
		methods = append(methods, string(s.Methods().Get(i).Name()))
	}
	return nil, fmt.Errorf("%s has no method %s; it has %s", service, name, strings.Join(methods, ", "))
}

func names(files *protoregistry.Files) string {
	var out []string
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			out = append(out, string(f.Services().Get(i).FullName()))
		}
		return true
	})
	sort.Strings(out)
	return strings.Join(out, ", ")
}

// versions are the versions of the reflection protocol, which share their messages; many servers
// have the older one only.
var versions = []string{"v1", "v1alpha"}

// reflect fetches the file that defines a service, and all its imports, through the target's
// reflection.
func (d *Driver) reflect(ctx context.Context, service string) (set *descriptorpb.FileDescriptorSet, err error) {
	conn, err := d.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	for _, version := range versions {
		if set, err = gather(ctx, conn, version, service); status.Code(err) != codes.Unimplemented {
			return set, err
		}
	}
	return nil, errors.New("the target has no reflection (grpc.reflection.v1); name its .proto files in load.proto, or a file of descriptors in load.descriptors, as protoc --include_imports --descriptor_set_out writes it")
}

// gather fetches the files one after the other over one stream.
func gather(ctx context.Context, conn *grpc.ClientConn, version, service string) (*descriptorpb.FileDescriptorSet, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the stream
	defer cancel()
	both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	stream, err := conn.NewStream(ctx, both, "/grpc.reflection."+version+".ServerReflection/ServerReflectionInfo")
	if err != nil {
		return nil, err
	}
	ask := &reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service}}
	set, have := &descriptorpb.FileDescriptorSet{}, map[string]bool{}
	var wanted []string
	for {
		files, err := exchange(stream, ask)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if have[f.GetName()] {
				continue
			}
			have[f.GetName()] = true
			if set.File = append(set.File, f); len(set.File) > mostFiles {
				return nil, fmt.Errorf("its reflection returned more than %d files", mostFiles)
			}
			wanted = append(wanted, f.GetDependency()...)
		}
		for len(wanted) > 0 && have[wanted[0]] {
			wanted = wanted[1:]
		}
		if len(wanted) == 0 {
			return set, nil
		}
		ask = &reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: wanted[0]}}
		wanted = wanted[1:]
	}
}

func exchange(stream grpc.ClientStream, ask *reflection.ServerReflectionRequest) ([]*descriptorpb.FileDescriptorProto, error) {
	if err := stream.SendMsg(ask); err != nil && !errors.Is(err, io.EOF) { // EOF: RecvMsg returns the reason
		return nil, err
	}
	answer := &reflection.ServerReflectionResponse{}
	if err := stream.RecvMsg(answer); err != nil {
		return nil, err
	}
	if e := answer.GetErrorResponse(); e != nil {
		return nil, fmt.Errorf("its reflection answered %s: %.200s", codes.Code(e.GetErrorCode()), e.GetErrorMessage())
	}
	var out []*descriptorpb.FileDescriptorProto
	for _, encoded := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(encoded, f); err != nil {
			return nil, fmt.Errorf("its reflection returned no descriptor: %w", err)
		}
		out = append(out, f)
	}
	return out, nil
}
