// SPDX-License-Identifier: Apache-2.0

// Readers written in Go, on one file.
//
//	peers jfr FILE     Grafana's jfr-parser: "TYPE EVENTS SAMPLES" a line
//	peers pprof FILE   google/pprof's profile: "TYPE/UNIT TOTAL" a line
//
// A reference that leads nowhere, or whatever else they have against it, is told and fails.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/grafana/jfr-parser/parser"
	"github.com/grafana/jfr-parser/parser/types"
)

// What Pyroscope calls a sample type (pkg/validation).
var typeName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

type recording struct {
	*parser.Parser
	checked map[types.StackTraceRef]error
}

func (r *recording) frame(f types.StackFrame) error {
	m := r.GetMethod(f.Method)
	if m == nil {
		return fmt.Errorf("no method %d", f.Method)
	}
	c := r.GetClass(m.Type)
	if c == nil {
		return fmt.Errorf("method %d has no class %d", f.Method, m.Type)
	}
	class := r.GetSymbolString(c.Name)
	if class == "" || r.GetSymbolString(m.Name) == "" {
		return fmt.Errorf("method %d has no name", f.Method)
	}
	// it makes one class of all that a lambda's may be called, where it knows their names
	if i := strings.Index(class, "$$Lambda"); i >= 0 && class[i:] != "$$Lambda_" {
		return fmt.Errorf("the lambda's class %q is not known as such", class)
	}
	return nil
}

func (r *recording) stack(ref types.StackTraceRef) (err error) {
	if err, ok := r.checked[ref]; ok {
		return err
	}
	defer func() { r.checked[ref] = err }()
	s := r.GetStacktrace(ref)
	if s == nil || len(s.Frames) == 0 {
		return fmt.Errorf("no stack %d", ref)
	}
	for _, f := range s.Frames {
		if err := r.frame(f); err != nil {
			return fmt.Errorf("stack %d: %w", ref, err)
		}
	}
	return nil
}

func (r *recording) sample(thread types.ThreadRef, state types.ThreadStateRef, stack types.StackTraceRef) error {
	if _, ok := r.Threads.IDMap[thread]; !ok {
		return fmt.Errorf("no thread %d", thread)
	}
	if r.GetThreadState(state) == nil {
		return fmt.Errorf("no state %d", state)
	}
	return r.stack(stack)
}

func readJFR(b []byte) error {
	r := &recording{
		parser.NewParser(b, parser.Options{SymbolProcessor: parser.ProcessSymbols}),
		make(map[types.StackTraceRef]error),
	}
	var cpu, wall, ticks, settings int64
	var failed error

	for {
		t, err := r.ParseEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch t {
		case r.TypeMap.T_EXECUTION_SAMPLE:
			cpu++
			err = r.sample(r.ExecutionSample.SampledThread, r.ExecutionSample.State, r.ExecutionSample.StackTrace)
		case r.TypeMap.T_WALL_CLOCK_SAMPLE:
			wall++
			ticks += int64(r.WallClockSample.Samples)
			err = r.sample(r.WallClockSample.SampledThread, r.WallClockSample.State, r.WallClockSample.StackTrace)
		case r.TypeMap.T_ACTIVE_SETTING:
			settings++
		}
		if failed == nil {
			failed = err
		}
	}
	fmt.Println("jdk.ExecutionSample", cpu, 0)
	fmt.Println("profiler.WallClockSample", wall, ticks)
	fmt.Println("jdk.ActiveSetting", settings, 0)
	return failed
}

func readPprof(b []byte) error {
	p, err := profile.ParseData(b)
	if err != nil {
		return err
	}
	if err := p.CheckValid(); err != nil {
		return err
	}
	sums := make([]int64, len(p.SampleType))
	for _, s := range p.Sample {
		if len(s.Label["thread"]) != 1 || len(s.Label["state"]) != 1 {
			return fmt.Errorf("a sample with the threads %q and states %q", s.Label["thread"], s.Label["state"])
		}
		for i, v := range s.Value {
			sums[i] += v
		}
	}
	for i, t := range p.SampleType {
		fmt.Printf("%s/%s %d\n", t.Type, t.Unit, sums[i])
		// with more kinds it is for tools that expect dashes
		if len(p.SampleType) <= 2 && !typeName.MatchString(t.Type) {
			return fmt.Errorf("Pyroscope refuses the sample type %q", t.Type)
		}
	}
	return nil
}

func main() {
	readers := map[string]func([]byte) error{"jfr": readJFR, "pprof": readPprof}

	if len(os.Args) != 3 || readers[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: peers jfr|pprof FILE")
		os.Exit(2)
	}
	b, err := os.ReadFile(os.Args[2])
	if err == nil {
		err = readers[os.Args[1]](b)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
