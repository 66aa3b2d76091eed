// This file expands search spaces that a study names: all twists of a torus, and all shapes
// of a number of nodes.

package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"sim/fabric/torus"
	"sim/scenarios/schema"
)

// Keys with named search spaces.
const (
	dimsKey  = "fabric.dims"
	twistKey = "fabric.twist"
)

// shapesPattern matches the name of a space of shapes, such as "shapes of 512".
var shapesPattern = regexp.MustCompile(`^shapes of (\d+)$`)

// maxShapeNodes limits the number of nodes of a space of shapes. Its divisors are found by
// trial division.
const maxShapeNodes = 1 << 24

// namedSpace returns the values of a search space with a name: "all" for fabric.twist, and
// "shapes of N" for fabric.dims. It returns nil if the key has no space of that name.
func namedSpace(key string, v any) (*valueSeries, *schema.Rejection) {
	name, isText := v.(string)
	switch {
	case !isText:
		return nil, nil
	case key == twistKey && name == "all":
		patterns := torus.TwistPatterns()
		return &valueSeries{n: len(patterns), at: func(i int) any { return patterns[i] }}, nil
	case key == dimsKey && shapesPattern.MatchString(name):
		nodes, err := strconv.Atoi(shapesPattern.FindStringSubmatch(name)[1])
		if err != nil || nodes > maxShapeNodes {
			return nil, rejection(schema.Quote(name)+" has too many nodes", fmt.Sprintf("write at most %d", maxShapeNodes))
		}
		shapes := torus.Shapes(nodes)
		if len(shapes) == 0 {
			return nil, rejection(
				fmt.Sprintf("no torus of three dimensions of at least 2 nodes has %d nodes", nodes),
				`write a number with three factors, such as "shapes of 512"`,
			)
		}
		return &valueSeries{n: len(shapes), at: func(i int) any {
			var dims []any // as decoded from TOML
			for _, n := range shapes[i] {
				dims = append(dims, int64(n))
			}
			return dims
		}}, nil
	}
	return nil, nil
}

// dropEqualTwists removes the twists of axes named "all" that no shape of the study needs: a
// pattern that gives the same torus as an earlier one, or none because it twists an open
// dimension. Patterns that differ only in the names of dimensions remain, because routers
// and faults distinguish dimensions.
func (st *Study) dropEqualTwists() {
	axis := slices.IndexFunc(st.Axes, func(a Axis) bool { return a.isSpace && a.Name == twistKey })
	if axis < 0 {
		return
	}

	// The shapes are values of an axis, or the shape of the file. They are unknown if whole
	// fabrics or bases vary.
	fabric := schema.Child(st.source.root, "fabric")
	shapes := []any{fabric["dims"]}
	for _, a := range st.Axes {
		for k, key := range a.Keys {
			switch key {
			case dimsKey:
				shapes = nil
				for _, values := range a.Values {
					shapes = append(shapes, values[k])
				}
			case "fabric", baseKey, "fabric.open", "fabric.kind":
				return
			}
		}
	}

	// A pattern is needed if its shift vectors are new for some shape.
	seen := map[string]bool{}
	a := &st.Axes[axis]
	var values [][]any
	for _, v := range a.Values {
		isNew := false
		for i, shape := range shapes {
			t, ok := torusOf(shape, fabric["open"])
			if !ok {
				return // the checks report the shape
			}
			if t.Twist(v[0].(string)) != nil {
				continue
			}
			id := fmt.Sprint(i, t.Shift)
			isNew = isNew || !seen[id]
			seen[id] = true
		}
		if isNew {
			values = append(values, v)
		}
	}
	if len(values) > 0 { // the checks report shapes without any twist
		a.Values = values
		const firstKey = 1
		a.labelBy(firstKey)
	}
}

// torusOf returns the torus with decoded values of the keys dims and open. ok is false if
// they are not valid for three dimensions.
func torusOf(dims, open any) (t *torus.Torus, ok bool) {
	var sizes []int
	list, _ := dims.([]any)
	for _, element := range list {
		n, isNumber := element.(int64)
		if !isNumber || n < 1 || n > maxShapeNodes {
			return nil, false
		}
		sizes = append(sizes, int(n))
	}
	if len(sizes) != 3 {
		return nil, false
	}

	t = &torus.Torus{Dims: sizes, Open: make([]bool, 3), Cube: torus.TPUCube}
	names, _ := open.([]any)
	for _, name := range names {
		for i := range t.Open {
			t.Open[i] = t.Open[i] || name == torus.DimName(i)
		}
	}
	return t, true
}
