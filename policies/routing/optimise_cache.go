package routing

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sim/engine"
)

// cacheVersion is the version of the optimiser. Choices of other versions are not used.
const cacheVersion = 10

// cachedRoutes is a choice of paths as it is cached, for the canonical fault (Problem.canonical).
// The field names are part of the stored format.
type cachedRoutes struct {
	// Routes is indexed by class; empty if the class has no flow.
	Routes  [][]engine.Step
	Each    bool      // every pair has a path of its own
	Rule    *WildRule // sets the channels; nil if paths have channels
	Bound   float64   // Decision.Bound
	Split   float64   // Decision.BoundSplit
	Metrics map[string]float64
	Labels  map[string]string

	Least, LeastSplit engine.Time // Decision.MakespanBound and MakespanBoundSplit
}

// cacheKey returns a hash of all inputs of a choice.
func (r *optimiser) cacheKey() (string, error) {
	// Links and tasks are encoded without fields that cannot affect the choice, such as the
	// latency of a link.
	type link struct {
		From, To, Channels int32
		Rate               float64
	}

	type task struct {
		engine.Task
		After []engine.Edge
	}

	// The inputs are encoded as JSON. Fields that cannot affect the choice are empty.
	p := r.problem
	inputs := struct {
		Version, Seed uint64
		Options       OptimisedRouter
		Wild          WildRule
		// Options of the routers whose paths are compared for a graph; otherwise empty.
		Routers Settings
		Dims    []int // of a torus; also Open and Shift
		Open    []bool
		Shift   [][]int
		Nodes   int32
		Links   []link
		Rate    float64 // reference rate; 0 if rates are equal
		Fastest float64
		Tasks   []task
		Pinned  []int32 `json:",omitempty"`
		Uniform bool
		Flows   []engine.Flow
		Demand  []float64
	}{
		Version: cacheVersion,
		Seed:    r.seed,
		Options: r.OptimisedRouter,
		Wild:    r.wild,
		Nodes:   p.Network.Nodes,
		Uniform: p.Uniform(),
	}

	// The directory of the cache does not affect the choice.
	inputs.Options.Cache = ""
	if t := p.Torus; t != nil {
		inputs.Dims = t.Dims
		inputs.Open = t.Open
		inputs.Shift = t.Shift
	}
	if p.RatesDiffer() {
		inputs.Rate = p.referenceRate()
	}

	// With equal rates, only whether a link is up matters.
	for _, l := range p.Network.Links {
		if inputs.Rate == 0 && l.Rate > 0 {
			l.Rate = 1
		}
		inputs.Links = append(inputs.Links, link{From: l.From, To: l.To, Channels: l.Channels, Rate: l.Rate})
	}

	// Only a search for the end of a graph depends on its tasks and on rates.
	if g := p.Graph; g != nil {
		inputs.Fastest = p.maxRate()
		inputs.Routers, inputs.Routers.Optimised = r.options.Settings, OptimisedRouter{}
		inputs.Pinned = p.Pinned
		for i, t := range g.Tasks {
			inputs.Tasks = append(inputs.Tasks, task{Task: t, After: g.In(int32(i))})
		}
	}

	// Uniform traffic follows from the number of nodes.
	if !inputs.Uniform {
		inputs.Flows = p.Flows
		inputs.Demand = p.Demand
	}
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(inputs); err != nil {
		return "", fmt.Errorf("routing: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// cacheFile returns the name of the file for a key.
func (r *optimiser) cacheFile(key string) string {
	return filepath.Join(r.Cache, "routes-"+key[:32])
}

// maxCacheBytes limits the size of a cached choice that is read.
const maxCacheBytes = 1 << 30

// loadCached returns a cached choice; nil if there is no file or its checksum is wrong. A file
// has a checksum, the key, and the encoded choice.
func (r *optimiser) loadCached(key string) *cachedRoutes {
	f, err := os.Open(r.cacheFile(key))
	if err != nil {
		return nil
	}
	defer f.Close()

	// Read and verify the checksum and the key.
	var head [2 * sha256.Size]byte

	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCacheBytes {
		return nil
	}
	if _, err := io.ReadFull(f, head[:]); err != nil || hex.EncodeToString(head[sha256.Size:]) != key {
		return nil
	}

	// The checksum covers the key and the encoded choice.
	body, err := io.ReadAll(io.LimitReader(f, maxCacheBytes))
	if err != nil {
		return nil
	}
	h := sha256.New()
	h.Write(head[sha256.Size:])
	h.Write(body)
	if !bytes.Equal(h.Sum(nil), head[:sha256.Size]) {
		return nil
	}
	k := new(cachedRoutes)
	if gob.NewDecoder(bytes.NewReader(body)).Decode(k) != nil {
		return nil
	}
	return k
}

// storeCached stores a choice. The file is renamed into place, so it is complete or absent.
func (r *optimiser) storeCached(key string, k *cachedRoutes) (err error) {
	// Encode the choice after the key, which the checksum also covers.
	fail := func(err error) error { return fmt.Errorf("routing: storing paths in the cache: %w", err) }
	var body bytes.Buffer
	hash, err := hex.DecodeString(key)
	if err != nil {
		return fail(err)
	}
	body.Write(hash)
	if err := gob.NewEncoder(&body).Encode(k); err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(r.Cache, 0o755); err != nil {
		return fail(err)
	}

	// Write a temporary file, and rename it. Of several processes that store the same choice,
	// the last one wins.
	f, err := os.CreateTemp(r.Cache, "tmp-routes-")
	if err != nil {
		return fail(err)
	}
	sum := sha256.Sum256(body.Bytes())
	_, err = f.Write(append(sum[:], body.Bytes()...))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), r.cacheFile(key))
	}
	if err != nil {
		return fail(errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
