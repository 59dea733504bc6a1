// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access authenticates viewers and reviews their rights with the hub's API server. If a
// review fails, the viewer is neither allowed nor refused: the request returns an error.
package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

const (
	// remembered is how long a result of the API server is cached, both allowed and denied.
	remembered = time.Minute
	// acquainted is how long an accepted token is reviewed separately from unknown ones.
	// maxAcquainted is the highest number of such tokens.
	acquainted    = 12 * time.Hour
	maxAcquainted = 10_000
	// parallel is how many namespaces of a viewer are reviewed in parallel.
	parallel = 8
	// tokenTimeout limits one TokenReview. rightsTimeout limits all reviews of one viewer's rights.
	tokenTimeout  = 10 * time.Second
	rightsTimeout = 25 * time.Second
)

// budget limits the reviews per second, and their burst. No kind of review waits for another one.
type budget struct {
	rate  float32
	burst int
}

var (
	strangers  = budget{20, 100}
	known      = budget{20, 100}
	everywhere = budget{50, 200}   // for the right to see all namespaces
	each       = budget{200, 1000} // for the right to see one namespace
)

// A viewer needs this right in a namespace or in the cluster: get reports.
const (
	Verb     = "get"
	Resource = "multiclusterapplicationsetreports"
)

// These are the errors of [Access].
var (
	// ErrUnknown means that the hub does not accept the token, according to a TokenReview.
	ErrUnknown = errors.New("log in with a token the hub accepts")
	// ErrUnavailable means that the API server does not respond.
	ErrUnavailable = errors.New("the hub's API server does not answer; trying again")
)

// Viewer is the user of a token that the hub accepted.
type Viewer struct {
	Name string
	user user.Info
	key  string // everything on which the viewer's rights depend
}

// Access authenticates and authorizes. It is safe for concurrent use.
type Access struct {
	tokens     authenticator.Token
	accepted   *utilcache.LRUExpireCache // tokens, by hash
	everywhere authorizer.Authorizer
	each       authorizer.Authorizer
	flight     singleflight.Group // by viewer
}

// The page reviews tokens and rights of other users.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// New returns an Access that creates reviews.
func New(config *rest.Config, through *http.Client) (*Access, error) {
	t := &tokens{accepted: utilcache.NewLRUExpireCache(maxAcquainted)}
	a := &Access{tokens: cache.New(t, false, remembered, remembered), accepted: t.accepted}
	var err1, err2, err3, err4 error
	t.ofStrangers, err1 = authenticationclient.NewForConfigAndClient(limited(config, strangers), through)
	t.ofKnown, err2 = authenticationclient.NewForConfigAndClient(limited(config, known), through)
	a.everywhere, err3 = newAuthorizer(limited(config, everywhere), through)
	a.each, err4 = newAuthorizer(limited(config, each), through)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, fmt.Errorf("make a client for reviews: %w", err)
	}
	return a, nil
}

func limited(config *rest.Config, b budget) *rest.Config {
	c := rest.CopyConfig(config)
	c.QPS, c.Burst = b.rate, b.burst
	return c
}

func newAuthorizer(config *rest.Config, through *http.Client) (authorizer.Authorizer, error) {
	reviews, err := authorizationclient.NewForConfigAndClient(config, through)
	if err != nil {
		return nil, err
	}
	return authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: reviews, AllowCacheTTL: remembered, DenyCacheTTL: remembered,
		WebhookRetryBackoff: &wait.Backoff{Steps: 1}, // the page itself retries
	}.New()
}

// tokens authenticates by TokenReviews.
type tokens struct {
	ofStrangers, ofKnown authenticationclient.AuthenticationV1Interface
	accepted             *utilcache.LRUExpireCache // by hash
}

// AuthenticateToken reviews a token. A rejected token is not an error.
func (t *tokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	hash := sha256.Sum256([]byte(token))
	reviews := t.ofKnown
	if _, ok := t.accepted.Get(hash); !ok {
		reviews = t.ofStrangers
	}
	review, err := reviews.TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return nil, false, err
	}
	if !review.Status.Authenticated {
		return nil, false, nil
	}
	t.accepted.Add(hash, nil, acquainted)
	u := review.Status.User
	info := &user.DefaultInfo{Name: u.Username, UID: u.UID, Groups: u.Groups, Extra: map[string][]string{}}
	for name, value := range u.Extra {
		if name != user.CredentialIDKey { // it differs for each token of an account
			info.Extra[name] = value
		}
	}
	return &authenticator.Response{User: info}, true, nil
}

// Authenticate returns the user of a token. The error is [ErrUnknown] or [ErrUnavailable].
func (a *Access) Authenticate(ctx context.Context, token string) (*Viewer, error) {
	if token == "" {
		return nil, ErrUnknown
	}
	response, ok, err := a.tokens.AuthenticateToken(ctx, token)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: review a token: %w", ErrUnavailable, err)
	case !ok:
		return nil, ErrUnknown
	}
	key, err := json.Marshal(response.User)
	if err != nil {
		return nil, fmt.Errorf("encode a viewer: %w", err) // strings, and maps and slices of strings, can always be encoded
	}
	return &Viewer{Name: response.User.GetName(), user: response.User, key: string(key)}, nil
}

// Known reports whether a token was accepted before.
func (a *Access) Known(token string) bool {
	_, ok := a.accepted.Get(sha256.Sum256([]byte(token)))
	return ok
}

// Rights returns which of the sorted namespaces a viewer may see. It first reviews the right for
// all of them, and each one only if that is denied.
func (a *Access) Rights(ctx context.Context, v *Viewer, namespaces []string) (model.Rights, error) {
	all, err := may(ctx, a.everywhere, v, "")
	if err != nil || all {
		return model.Rights{All: all}, err
	}
	// Several open pages of a viewer share one review.
	rights, err, _ := a.flight.Do(v.key+strings.Join(namespaces, " "), func() (any, error) {
		return a.review(context.WithoutCancel(ctx), v, namespaces)
	})
	if err != nil {
		return model.Rights{}, err
	}
	allowed, _ := rights.([]string)
	return model.Rights{Namespaces: allowed}, nil
}

// review returns the namespaces that a viewer may see.
func (a *Access) review(ctx context.Context, v *Viewer, namespaces []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, rightsTimeout)
	defer cancel()
	allowed := make([]bool, len(namespaces))
	reviews, ctx := errgroup.WithContext(ctx)
	reviews.SetLimit(parallel)
	for i, namespace := range namespaces {
		reviews.Go(func() (err error) {
			allowed[i], err = may(ctx, a.each, v, namespace)
			return err
		})
	}
	if err := reviews.Wait(); err != nil {
		return nil, err
	}
	at := -1
	return slices.DeleteFunc(slices.Clone(namespaces), func(string) bool { at++; return !allowed[at] }), nil
}

// may reports whether a viewer may get the reports of a namespace. "" means all namespaces.
func may(ctx context.Context, by authorizer.Authorizer, v *Viewer, namespace string) (bool, error) {
	decision, _, err := by.Authorize(ctx, authorizer.AttributesRecord{
		User: v.user, Verb: Verb, Namespace: namespace, ResourceRequest: true,
		APIGroup: v1alpha1.GroupVersion.Group, APIVersion: v1alpha1.GroupVersion.Version, Resource: Resource,
	})
	if err != nil {
		return false, fmt.Errorf("%w: review a right: %w", ErrUnavailable, err)
	}
	return decision == authorizer.DecisionAllow, nil
}
