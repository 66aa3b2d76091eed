package collective_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/workloads/collective"
)

// TestSizes checks the properties of every kind of sizes for any n, mean and seed.
func TestSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, mean, seed := rapid.IntRange(2, 20).Draw(t, "n"), rapid.Int64Range(1, 1e9).Draw(t, "mean"), rapid.Uint64().Draw(t, "seed")
		exponent := rapid.Float64Range(0, 2).Draw(t, "exponent")
		for kind, make := range map[string]func() ([]int64, error){
			"uniform": func() ([]int64, error) { return collective.UniformSizes(n, mean) },
			"random":  func() ([]int64, error) { return collective.RandomSizes(n, mean, seed) },
			"zipf":    func() ([]int64, error) { return collective.ZipfSizes(n, mean, exponent, seed) },
		} {
			sizes, err := make()
			again, _ := make()
			if err != nil || len(sizes) != n*n || !slices.Equal(sizes, again) {
				t.Fatal(kind, err, sizes, again)
			}
			sum, maxSize := int64(0), int64(0)
			for i, b := range sizes {
				if b < 0 || i/n == i%n && b != 0 {
					t.Fatalf("%s: %d B at %d", kind, b, i)
				}
				sum, maxSize = sum+b, max(maxSize, b)
			}
			switch {
			case kind != "random" && sum != mean*int64(n*(n-1)):
				t.Fatalf("%s: %d B in all, want %d x %d", kind, sum, mean, n*(n-1))
			case kind == "uniform" && maxSize != mean, kind == "random" && maxSize > 2*mean:
				t.Fatalf("%s: the largest is %d B", kind, maxSize)
			}
		}
	})
}

// TestZipfSizes checks that sorted sizes are proportional to rank^-exponent, within one
// byte for rounding down and one for the remainder. Other seeds permute the same sizes.
func TestZipfSizes(t *testing.T) {
	const n, mean = 16, 32_000_000
	a, err := collective.ZipfSizes(n, mean, collective.ZipfExponent, 1)
	b, err2 := collective.ZipfSizes(n, mean, collective.ZipfExponent, 2)
	if err != nil || err2 != nil || slices.Equal(a, b) {
		t.Fatal("two seeds, one order", err, err2)
	}
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) {
		t.Error("two seeds, other sizes")
	}
	slices.Reverse(a)
	sum := 0.0
	for r := 1; r <= n*(n-1); r++ {
		sum += math.Pow(float64(r), -0.4)
	}
	for r := 1; r <= n*(n-1); r++ {
		want := mean * n * (n - 1) * math.Pow(float64(r), -0.4) / sum
		if math.Abs(float64(a[r-1])-want) > 2 {
			t.Errorf("rank %d: %d B, want %.1f", r, a[r-1], want)
		}
	}
}

// TestRandomSizes compares mean and variance of 4032 pairs with U(0, 2m), which has m and
// m^2/3, within 5 standard errors.
func TestRandomSizes(t *testing.T) {
	const n, mean = 64, 32e6
	sizes, err := collective.RandomSizes(n, mean, 7)
	if err != nil {
		t.Fatal(err)
	}
	sum, squares := 0.0, 0.0
	for i, b := range sizes {
		if i/n != i%n {
			x := float64(b)/mean - 1
			sum, squares = sum+x, squares+x*x
		}
	}
	const pairs = n * (n - 1)
	if m := sum / pairs; math.Abs(m) > 5/math.Sqrt(3*pairs) {
		t.Errorf("the mean is off by %g", m)
	}
	if v := squares / pairs; math.Abs(v-1./3) > 5*math.Sqrt(4./45/pairs) { // the variance of x^2 is 1/5 - 1/9
		t.Errorf("the variance is %g, want 1/3", v)
	}
}

func TestReadSizes(t *testing.T) {
	sizes, err := collective.ReadSizes(strings.NewReader("# sizes\n0, 4MB, 1\n\n64KiB,0,0 # none\n2,3,0\n"), "m.csv", 3)
	if err != nil || !slices.Equal(sizes, []int64{0, 4e6, 1, 65536, 0, 0, 2, 3, 0}) {
		t.Fatal(sizes, err)
	}
	for text, want := range map[string]string{
		"0,1\n1\n":             "m.csv:2:2: a row of 1 entries; want 2",
		"0,1\n1,0,2\n":         "m.csv:2:3: a row of 3 entries; want 2",
		"0,1\n":                "m.csv:1:1: the matrix has 1 rows; want 2",
		"0,1\n1,0\n0,0\n":      "m.csv:3:1: the matrix has 3 rows; want 2",
		"0,1\n-4,0\n":          "m.csv:2:1: -4 B is negative",
		"0,1\n-4MB,0\n":        "m.csv:2:1: ",
		"0,x\n1,0\n":           "m.csv:1:2: ",
		"0,NaN\n1,0\n":         "m.csv:1:2: ",
		"0,1\n1,3\n":           "m.csv:2:2: node 1 sends 3 B to itself",
		"0,9e18\n1,0\n":        "m.csv:1:2: ",
		"a,b\n0,1\n1,0\n":      "m.csv:1: the line is a header",
		"0,5000PB\n5000PB,0\n": "m.csv:1:2: the matrix is more bytes than can be counted",
	} {
		if _, err := collective.ReadSizes(strings.NewReader(text), "m.csv", 2); !errors.Is(err, collective.ErrTraffic) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	both := "-1,1\n1,x\n"
	if _, err := collective.ReadSizes(strings.NewReader(both), "m.csv", 2); err == nil || !strings.Contains(err.Error(), ":1:1:") || !strings.Contains(err.Error(), ":2:2:") {
		t.Errorf("%q: %v, want both diagnostics", both, err)
	}
}

func TestBadSizes(t *testing.T) {
	for _, c := range []struct {
		n        int
		mean     int64
		exponent float64
	}{{1, 5, 0.4}, {0, 5, 0.4}, {-3, 5, 0.4}, {4, 0, 0.4}, {4, -1, 0.4}, {1 << 15, 1, 0.4}, {4, math.MaxInt64 / 8, 0.4}, {4, 5, -1}, {4, 5, math.NaN()}, {4, 5, math.Inf(1)}} {
		if _, err := collective.ZipfSizes(c.n, c.mean, c.exponent, 1); !errors.Is(err, collective.ErrTraffic) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestChunks(t *testing.T) {
	got, err := collective.Chunks([]int64{0, 1, 4, 5, 8, math.MaxInt32 * 4}, 4)
	if err != nil || !slices.Equal(got, []int32{0, 1, 1, 2, 2, math.MaxInt32}) {
		t.Error(got, err)
	}
	for _, bad := range []struct{ size, chunk int64 }{{1, 0}, {1, -4}, {-1, 4}, {math.MaxInt32*4 + 1, 4}, {math.MaxInt64, 1}} {
		if _, err := collective.Chunks([]int64{bad.size}, bad.chunk); !errors.Is(err, collective.ErrTraffic) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestMark checks that a UTF-8 byte order mark is ignored at the start of a file and is
// an error elsewhere.
func TestMark(t *testing.T) {
	const mark, rows = "\uFEFF", "0,1KB\n2,0\n"
	for _, before := range []string{mark, mark + "# bytes\n", mark + "\n", ""} {
		text := before + rows
		if n := collective.CountRows([]byte(text)); n != 2 {
			t.Errorf("%q has %d rows", text, n)
		}
		sizes, err := collective.ReadSizes(strings.NewReader(text), "m.csv", 2)
		if err != nil || !slices.Equal(sizes, []int64{0, 1000, 2, 0}) {
			t.Errorf("%q: %v, %v", text, sizes, err)
		}
	}
	for _, text := range []string{"0,1\n" + mark + "2,0\n", mark + mark + rows} {
		if _, err := collective.ReadSizes(strings.NewReader(text), "m.csv", 2); !errors.Is(err, collective.ErrTraffic) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
