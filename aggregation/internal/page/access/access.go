// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access authenticates viewers and reviews what they may see, by the hub's API
// server. What could not be reviewed is never allowed.
package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

const (
	// remembered is how long an answer counts, unknownFor that of an unknown token.
	remembered = time.Minute
	unknownFor = 10 * time.Second
	// maxViewers is how many viewers' rights are remembered.
	maxViewers = 500
	// parallel is how many namespaces of a viewer are reviewed at once.
	parallel = 8
	// tokenTimeout bounds one TokenReview, rightsTimeout all reviews of one viewer's rights.
	tokenTimeout  = 10 * time.Second
	rightsTimeout = 25 * time.Second
	// Reviews a second that the page may cost the API server, and how many at once.
	tokenRate, tokenBurst   = 20, 100
	rightsRate, rightsBurst = 200, 1000
)

// What a viewer needs: to get the reports of a namespace, or of all.
const (
	Verb     = "get"
	Resource = "multiclusterapplicationsetreports"
)

// Errors of [Access].
var (
	// ErrUnknown: the hub does not accept the token.
	ErrUnknown = errors.New("log in with a token the hub accepts")
	// ErrUnavailable: the API server did not answer.
	ErrUnavailable = errors.New("the hub's API server does not answer; trying again")
)

// Viewer is the user of a token that the hub accepted.
type Viewer struct {
	Name string
	spec authorizationv1.SubjectAccessReviewSpec
	key  string
}

// Access authenticates and authorizes. It is safe for concurrent use.
type Access struct {
	tokens  authenticator.Token
	reviews authorizationclient.SubjectAccessReviewInterface
	rights  *utilcache.LRUExpireCache // *rights by viewer
	flight  singleflight.Group
	// last are the namespaces that were reviewed last, which most viewers' rights share.
	last atomic.Pointer[[]string]
}

// rights are the answers for one viewer. They never change.
type rights struct {
	until    time.Time
	all      bool
	reviewed []string // sorted
	allowed  map[string]struct{}
}

// New returns an access that creates reviews. The binary's role has the right to, as for
// its metrics.
func New(config *rest.Config, through *http.Client) (*Access, error) {
	limited := func(qps float32, burst int) *rest.Config {
		c := rest.CopyConfig(config)
		c.QPS, c.Burst = qps, burst
		return c
	}
	authentication, err := authenticationclient.NewForConfigAndClient(limited(tokenRate, tokenBurst), through)
	if err != nil {
		return nil, fmt.Errorf("make a client for TokenReviews: %w", err)
	}
	authorization, err := authorizationclient.NewForConfigAndClient(limited(rightsRate, rightsBurst), through)
	if err != nil {
		return nil, fmt.Errorf("make a client for SubjectAccessReviews: %w", err)
	}
	// One try: the page tries again by itself.
	tokens, err := webhook.NewFromInterface(authentication, nil, wait.Backoff{Steps: 1}, tokenTimeout, webhook.AuthenticatorMetrics{
		RecordRequestTotal: func(context.Context, string) {}, RecordRequestLatency: func(context.Context, string, float64) {},
	})
	if err != nil {
		return nil, fmt.Errorf("make an authenticator: %w", err)
	}
	return &Access{
		tokens: cache.New(tokens, false, remembered, unknownFor), reviews: authorization.SubjectAccessReviews(), rights: utilcache.NewLRUExpireCache(maxViewers),
	}, nil
}

// Authenticate returns whose token it is: [ErrUnknown] or [ErrUnavailable] otherwise.
func (a *Access) Authenticate(ctx context.Context, token string) (*Viewer, error) {
	if token == "" {
		return nil, ErrUnknown
	}
	response, ok, err := a.tokens.AuthenticateToken(ctx, token)
	switch {
	case isOutage(err):
		return nil, fmt.Errorf("%w: review a token: %w", ErrUnavailable, err)
	case err != nil || !ok: // an error is then the API server's reason
		return nil, ErrUnknown
	}
	v := &Viewer{Name: response.User.GetName(), spec: authorizationv1.SubjectAccessReviewSpec{
		User: response.User.GetName(), UID: response.User.GetUID(), Groups: response.User.GetGroups(), Extra: map[string]authorizationv1.ExtraValue{},
	}}
	for name, value := range response.User.GetExtra() {
		if name != user.CredentialIDKey { // which is another one for each token of an account
			v.spec.Extra[name] = value
		}
	}
	data, err := json.Marshal(v.spec)
	if err != nil {
		return nil, fmt.Errorf("encode a viewer: %w", err)
	}
	sum := sha256.Sum256(data)
	v.key = string(sum[:])
	return v, nil
}

// isOutage reports whether a review has no answer, rather than no for an answer.
func isOutage(err error) bool {
	var status apierrors.APIStatus
	var transport *url.Error
	return errors.As(err, &status) || errors.As(err, &transport) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Forget drops what is remembered of a viewer's rights, so that a new login counts at once.
func (a *Access) Forget(v *Viewer) { a.rights.Remove(v.key) }

// Allowed returns what a viewer may see of sorted namespaces: a function that says so of
// each, and of "" whether it is all of them. All are reviewed first, and each one only when
// that is refused.
func (a *Access) Allowed(ctx context.Context, v *Viewer, namespaces []string) (func(namespace string) bool, error) {
	known := a.known(v)
	if known == nil || len(known.missing(namespaces)) > 0 {
		reviewed, err, _ := a.flight.Do(v.key, func() (any, error) { return a.review(context.WithoutCancel(ctx), v, namespaces) })
		if err != nil {
			return nil, err
		}
		known, _ = reviewed.(*rights)
	}
	return func(namespace string) bool {
		_, ok := known.allowed[namespace]
		return ok || known.all
	}, nil
}

func (a *Access) known(v *Viewer) *rights {
	value, _ := a.rights.Get(v.key)
	known, _ := value.(*rights)
	return known
}

// missing returns the namespaces that have not been reviewed.
func (r *rights) missing(namespaces []string) []string {
	if r.all || slices.Equal(r.reviewed, namespaces) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(namespaces), func(n string) bool {
		_, found := slices.BinarySearch(r.reviewed, n)
		return found
	})
}

// review completes a viewer's rights. What was answered before an error is kept.
func (a *Access) review(ctx context.Context, v *Viewer, namespaces []string) (*rights, error) {
	ctx, cancel := context.WithTimeout(ctx, rightsTimeout)
	defer cancel()
	now := &rights{until: time.Now().Add(remembered), allowed: map[string]struct{}{}}
	if before := a.known(v); before != nil {
		*now = *before
	} else {
		all, err := a.allowed(ctx, v, "")
		if err != nil {
			return nil, err
		}
		now.all = all
	}
	missing := now.missing(namespaces)
	answers := make([]*bool, len(missing))
	var reviews errgroup.Group
	reviews.SetLimit(parallel)
	for i, namespace := range missing {
		reviews.Go(func() error {
			ok, err := a.allowed(ctx, v, namespace)
			if err == nil {
				answers[i] = &ok
			}
			return err
		})
	}
	err := reviews.Wait()
	next := rights{until: now.until, all: now.all, reviewed: slices.Clone(now.reviewed), allowed: map[string]struct{}{}}
	for n := range now.allowed {
		next.allowed[n] = struct{}{}
	}
	for i, answer := range answers {
		if answer == nil {
			continue
		}
		next.reviewed = append(next.reviewed, missing[i])
		if *answer {
			next.allowed[missing[i]] = struct{}{}
		}
	}
	slices.Sort(next.reviewed)
	if last := a.last.Load(); last != nil && slices.Equal(*last, next.reviewed) {
		next.reviewed = *last
	} else {
		a.last.Store(&next.reviewed)
	}
	a.rights.Add(v.key, &next, time.Until(next.until))
	return &next, err
}

func (a *Access) allowed(ctx context.Context, v *Viewer, namespace string) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: v.spec}
	review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: Verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: Resource,
	}
	answer, err := a.reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("%w: review a right: %w", ErrUnavailable, err)
	}
	return answer.Status.Allowed, nil
}
